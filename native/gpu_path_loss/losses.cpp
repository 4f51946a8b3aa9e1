#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/memory.hpp"
#include "gpu_path_loss.hpp"
#include "tasks.hpp"

namespace shakedown::gpu_path_loss {
namespace {

using radio::HeightKind;

constexpr unsigned kMostWarps = 8;  // of a block; kernels.cu is bounded by it
constexpr unsigned kHostWarps = 1, kHostBlocks = 64;

/// The cells of the ground in tiles; those of a tile that hangs over the edge are never read.
template <class H>
std::vector<Cell<H>> cells_of(const radio::Ground& ground, unsigned& tiles_in_a_row) {
  const auto columns = static_cast<std::size_t>(ground.columns() - 1),
             rows = static_cast<std::size_t>(ground.rows() - 1);
  const std::size_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
  tiles_in_a_row = static_cast<unsigned>(across);
  std::vector<Cell<H>> cells(across * down * kTile * kTile);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      // A number beside that of the next row, column by column: radio/ground.hpp.
      const H* const pair = ground.pairs<H>() + 2 * ground.place(row, column);
      const std::size_t tile = row / kTile * across + column / kTile;
      cells[tile * kTile * kTile + row % kTile * kTile + column % kTile] = {pair[0], pair[2], pair[1], pair[3]};
    }
  }
  return cells;
}

template <class H>
class OnDevice final : public Losses {
 public:
  OnDevice(gpu::Device& device, const Setup& setup, std::size_t radios)
      : device_(device),
        stream_(device),
        points_(setup.points),
        radios_(radios),
        real_bytes_(setup.precision == Precision::fp32 ? sizeof(float) : sizeof(double)),
        kernel_(device, kModule, kernel_name(setup.precision).c_str()) {
    warps_ = std::min(warps_that_fit(), device.info().backend == "host" ? kHostWarps : kMostWarps);
    unsigned tiles_in_a_row = 0;
    const std::vector<Cell<H>> cells = cells_of<H>(setup.ground, tiles_in_a_row);
    require(cells.size() * sizeof(Cell<H>));
    cells_ = {device, cells.size()};
    places_ = {device, radios};
    numbers_ = {device, radios};
    moved_ = {device, radios};
    is_moved_ = {device, radios};
    losses_ = {device, std::max<std::size_t>(1, radio::all_links(radios))};
    device_.copy(cells_.data(), cells.data(), cells_.bytes(), stream_);
    stream_.wait();
    task_.cells = cells_.data();
    task_.tiles_in_a_row = tiles_in_a_row;
    task_.scale_m = setup.ground.scale_m();
    task_.offset_m = setup.ground.offset_m();
    task_.step_m = setup.step_m;
    task_.last_column = setup.ground.columns() - 1;
    task_.last_row = setup.ground.rows() - 1;
    task_.places = places_.data();
    task_.numbers = numbers_.data();
    task_.is_moved = is_moved_.data();
    task_.radios = static_cast<std::uint32_t>(radios);
    task_.loss_db = losses_.data();
    task_.points = static_cast<std::uint32_t>(setup.points);
    task_.antenna_m = setup.antenna_m;
    task_.prepared = radio::prepare(setup.setting);
  }

  void place(const radio::Radios& radios) override {
    number_at_ = along_a_curve(radios);
    rank_of_.resize(radios_);
    for (std::uint32_t rank = 0; rank < radios_; ++rank) rank_of_[number_at_[rank]] = rank;
    device_.copy(numbers_.data(), number_at_.data(), numbers_.bytes(), stream_);
    upload(radios);
  }

  void move(const radio::Radios& radios, std::span<const std::uint32_t> moved) override {
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint8_t> flags(radios_, 0);
    for (const std::uint32_t number : moved) {
      ranks.push_back(rank_of_[number]);
      flags[rank_of_[number]] = 1;
    }
    std::sort(ranks.begin(), ranks.end());
    moved_count_ = static_cast<std::uint32_t>(ranks.size());
    device_.copy(moved_.data(), ranks.data(), ranks.size() * sizeof(std::uint32_t), stream_);
    device_.copy(is_moved_.data(), flags.data(), flags.size(), stream_);
    upload(radios);
  }

  void find_all() override { launch(nullptr, 0, radio::all_links(radios_)); }
  void find_moved() override {
    launch(moved_.data(), moved_count_, static_cast<std::uint64_t>(moved_count_) * radios_);
  }

  std::vector<float> fetch_db() override {
    std::vector<float> losses(radio::all_links(radios_));
    device_.copy(losses.data(), losses_.data(), losses.size() * sizeof(float), stream_);
    stream_.wait();
    return losses;
  }

  [[nodiscard]] const gpu::Stream& stream() const override { return stream_; }
  [[nodiscard]] Object facts() const override {
    return Object()
        .add("threads_a_block", warps_ * kWarp)
        .add("blocks", blocks(radio::all_links(radios_)))
        .add("shared_bytes_a_block", shared_bytes())
        .add("ground_bytes", cells_.bytes());
  }

 private:
  static std::string kernel_name(Precision precision) {
    return std::string("losses_") + radio::word(precision) + (sizeof(H) == 2 ? "_int16" : "_float32");
  }
  [[nodiscard]] unsigned shared_bytes() const {
    return static_cast<unsigned>(warps_ * static_cast<std::size_t>(points_) * real_bytes_);
  }
  /// Of a block; each needs room for a profile in shared memory.
  [[nodiscard]] unsigned warps_that_fit() const {
    const std::size_t each = static_cast<std::size_t>(points_) * real_bytes_, room = device_.info().shared_bytes;
    const std::size_t most = room / each;
    if (most == 0) {
      throw gpu::Failure(gpu::State::out_of_memory,
                         device_.info().name + ": a profile of " + std::to_string(points_) + " points needs " +
                             show_bytes(each) + " of shared memory, " + show_bytes(room) + " are there",
                         "ask for " + std::to_string(room / real_bytes_) + " --points at most");
    }
    return static_cast<unsigned>(std::min<std::size_t>(most, kMostWarps));
  }
  void require(std::size_t cells) {
    const std::size_t need = cells + radio::all_links(radios_) * sizeof(float) + radios_ * (sizeof(Place) + 9);
    const std::size_t room = device_.free_bytes();
    if (need > gpu::usable(room)) {
      throw gpu::Failure(gpu::State::out_of_memory,
                         device_.info().name + ": " + std::to_string(radios_) + " radios and the terrain need " +
                             show_bytes(need) + ", " + show_bytes(room) + " are free",
                         "ask for fewer --radios, or a smaller --side");
    }
  }

  void upload(const radio::Radios& radios) {
    std::vector<Place> places(radios_);
    for (std::size_t rank = 0; rank < radios_; ++rank) {
      places[rank] = {radios.x[number_at_[rank]], radios.y[number_at_[rank]]};
    }
    device_.copy(places_.data(), places.data(), places_.bytes(), stream_);
    stream_.wait();
  }

  /// As many blocks as are on the device at once, which go on to the next links; fewer where there is no more to do.
  [[nodiscard]] unsigned blocks(std::uint64_t links) const {
    const auto in_a_block = std::uint64_t{warps_} * kWarp;
    const std::uint64_t useful = std::max<std::uint64_t>(1, (links + in_a_block - 1) / in_a_block);
    const gpu::Grid grid{.blocks = 1, .threads = warps_ * kWarp, .shared_bytes = shared_bytes()};
    const std::uint64_t resident =
        device_.info().backend == "host" ? kHostBlocks : std::max(1u, kernel_.resident_blocks(grid));
    return static_cast<unsigned>(std::min(useful, resident));
  }
  void launch(const std::uint32_t* moved, std::uint32_t moved_radios, std::uint64_t links) {
    if (links == 0) return;
    task_.moved = moved;
    task_.moved_radios = moved_radios;
    task_.links = links;
    kernel_({.blocks = blocks(links), .threads = warps_ * kWarp, .shared_bytes = shared_bytes()}, stream_, task_);
  }

  gpu::Device& device_;
  gpu::Stream stream_;
  int points_;
  std::size_t radios_, real_bytes_;
  gpu::Kernel<Task<H>> kernel_;
  unsigned warps_ = 1;
  std::uint32_t moved_count_ = 0;
  gpu::Array<Cell<H>> cells_;
  gpu::Array<Place> places_;
  gpu::Array<std::uint32_t> numbers_, moved_;
  gpu::Array<std::uint8_t> is_moved_;
  gpu::Array<float> losses_;
  std::vector<std::uint32_t> number_at_, rank_of_;
  Task<H> task_{};
};

/// How far along Hilbert's curve over a square of 2^16 x 2^16 places a place lies (the curve turns as it goes deeper:
/// Hilbert, Mathematische Annalen 38, 1891).
std::uint64_t along(std::uint32_t x, std::uint32_t y) {
  std::uint64_t way = 0;
  for (std::uint32_t side = 1u << 15; side > 0; side /= 2) {
    const bool right = (x & side) != 0, up = (y & side) != 0;
    way += static_cast<std::uint64_t>(side) * side * (right ? (up ? 2 : 3) : (up ? 1 : 0));
    if (up) continue;
    if (right) {
      x = ~x;
      y = ~y;
    }
    std::swap(x, y);
  }
  return way;
}

}  // namespace

std::vector<std::uint32_t> along_a_curve(const radio::Radios& radios) {
  std::vector<std::uint32_t> numbers(radios.count());
  std::iota(numbers.begin(), numbers.end(), 0u);
  if (radios.count() == 0) return numbers;
  const auto [left, right] = std::minmax_element(radios.x.begin(), radios.x.end());
  const auto [low, high] = std::minmax_element(radios.y.begin(), radios.y.end());
  const double side = std::max({*right - *left, *high - *low, 1e-9});
  const auto part = [side](double at, double from) {
    return static_cast<std::uint32_t>(std::clamp((at - from) / side * 65535, 0.0, 65535.0));
  };
  std::vector<std::uint64_t> ways(radios.count());
  for (std::size_t i = 0; i < ways.size(); ++i) ways[i] = along(part(radios.x[i], *left), part(radios.y[i], *low));
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) { return ways[a] < ways[b]; });
  return numbers;
}

std::unique_ptr<Losses> make_losses(gpu::Device& device, const Setup& setup, std::size_t radios) {
  if (setup.ground.kind() == HeightKind::int16) return std::make_unique<OnDevice<std::int16_t>>(device, setup, radios);
  return std::make_unique<OnDevice<float>>(device, setup, radios);
}

}  // namespace shakedown::gpu_path_loss
