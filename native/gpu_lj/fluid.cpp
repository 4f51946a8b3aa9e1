#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "common/clock.hpp"
#include "common/memory.hpp"
#include "gpu_lj.hpp"
#include "lj/cells.hpp"
#include "tasks.hpp"

namespace shakedown::gpu_lj {
namespace {

constexpr double kStale = 1e300;            // moved so far, lists are no lists
constexpr double kSlack = 1 + 1e-5;         // of the lists' reach, for the rounding of places there
constexpr unsigned kThreads = 512;          // of a block; kernels.cu is bounded by it
constexpr unsigned kHostThreads = 64;       // two warps are enough for what they must tell each other
constexpr std::uint32_t kMostCells = 1023;  // along an edge: the curve's
constexpr double kCellsEach = 4;            // of a particle at most, where the fluid is thin

template <class T>
class OnDevice final : public Fluid {
 public:
  OnDevice(gpu::Device& device, const lj::Physics& physics, std::size_t n, const Limits& limits)
      : device_(device),
        physics_(physics),
        n_(n),
        limits_(limits),
        stream_(device),
        scale_(device, kModule, "lj_scale"),
        progress_(device, 1),
        seen_(device, 1, gpu::Memory::pinned),
        control_(device, 1) {
    for (const int lanes : kLanes) {
      const std::string tail = std::string("_") + lj::word(kPrecision) + "_" + std::to_string(lanes);
      steps_.emplace_back(device, kModule, ("lj_steps" + tail).c_str());
      observe_.emplace_back(device, kModule, ("lj_observe" + tail).c_str());
    }
    stride_ = (n + 63) / 64 * 64;
    require(stride_ * (12 * sizeof(double) + 5 * sizeof(std::uint32_t) + 2 * sizeof(Place<T>)));
    at_ = {device, 6 * stride_};
    v_ = {device, 6 * stride_};
    id_ = {device, 2 * stride_};
    places_ = {device, 2 * stride_};
    for (auto* one : {&cell_of_, &order_, &lengths_}) *one = {device, stride_};
  }

  void load(const lj::State& state) override {
    length_ = state.length;
    std::vector<std::int64_t> at(3 * stride_);
    std::vector<double> v(3 * stride_);
    std::vector<std::uint32_t> id(n_);
    const std::vector<double>* const places[] = {&state.x, &state.y, &state.z};
    const std::vector<double>* const speeds[] = {&state.vx, &state.vy, &state.vz};
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < n_; ++i) at[c * stride_ + i] = fixed((*places[c])[i] / length_);
      std::copy(speeds[c]->begin(), speeds[c]->end(), v.begin() + static_cast<std::ptrdiff_t>(c * stride_));
    }
    std::iota(id.begin(), id.end(), 0U);
    device_.copy(at_.data(), at.data(), 3 * stride_ * sizeof(std::int64_t), stream_);
    device_.copy(v_.data(), v.data(), 3 * stride_ * sizeof(double), stream_);
    device_.copy(id_.data(), id.data(), n_ * sizeof(std::uint32_t), stream_);
    here_ = {};
    here_.moved = kStale;
    tell();
    set_skin(skin_);
    // From here on velocities are half a step behind the places: one kick a step then does for velocity Verlet's two.
    observe({.kick = -physics_.dt / 2 * physics_.force_factor});
  }

  void set_skin(double skin) override {
    skin_ = skin;
    if (length_ <= 0) return;
    const double range = physics_.cutoff + skin;
    if (length_ < 3 * range) throw lj::box_too_small(length_, range);
    const double thin = std::max(6.0, std::cbrt(kCellsEach * static_cast<double>(n_)));
    edge_ = static_cast<std::uint32_t>(std::min({2 * length_ / (range * kSlack), thin, double{kMostCells}}));
    prepare_cells();
    const double neighbours = 4.1888 * std::pow(range, 3) * static_cast<double>(n_) / (length_ * length_ * length_);
    make_room(std::max(room_, limits_.room > 0 ? limits_.room : static_cast<std::uint32_t>(1.4 * neighbours) + 24));
    make_stale();
  }

  void set_lanes(int lanes) override {
    which_ = static_cast<std::size_t>(std::find(std::begin(kLanes), std::end(kLanes), lanes) - std::begin(kLanes));
    if (length_ <= 0) return;
    shared_by_ = 0;
    make_room(room_);
    make_stale();
  }

  double advance(std::int64_t steps) override {
    const std::int64_t begin_ns = monotonic_ns(), until = here_.steps + steps;
    proceed(until, false);
    return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  }

  void scale_velocities(double factor) override {
    const std::size_t count = 3 * stride_;
    scale_({.blocks = static_cast<unsigned>((count + 255) / 256), .threads = 256}, stream_,
           v_.data() + here_.now * count, count, factor);
    stream_.wait();
  }

  lj::Thermo thermo() override { return observe({.half = half_kick(), .factor = physics_.force_factor}); }

  void store(lj::State& state, lj::Forces& forces) override {
    observe({.half = half_kick(), .factor = physics_.force_factor, .store = 1});
    state.resize(n_);
    state.length = length_;
    std::vector<std::uint32_t> id(n_);
    fetch(id, id_.data() + here_.now * stride_);
    std::vector<std::int64_t> at(n_);
    std::vector<double> read(n_);
    std::vector<double>* const places[] = {&state.x, &state.y, &state.z};
    std::vector<double>* const speeds[] = {&state.vx, &state.vy, &state.vz};
    std::vector<double>* const pushes[] = {&forces.x, &forces.y, &forces.z};
    const auto each = [&](std::vector<double>& to, const auto& value) {
      to.resize(n_);
      for (std::size_t i = 0; i < n_; ++i) to[id[i]] = value(i);
    };
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t held = (std::size_t{3} * here_.now + c) * stride_,
                        idle = (std::size_t{3} * (1 - here_.now) + c) * stride_;
      fetch(at, at_.data() + held);
      each(*places[c],
           [&](std::size_t i) { return static_cast<double>(static_cast<std::uint64_t>(at[i])) * (length_ * 0x1p-64); });
      fetch(read, v_.data() + idle);
      each(*speeds[c], [&](std::size_t i) { return read[i]; });
      fetch(read, reinterpret_cast<const double*>(at_.data() + idle));
      each(*pushes[c], [&](std::size_t i) { return read[i]; });
    }
  }

  Object counters() override {
    std::vector<std::uint32_t> lengths(n_);
    fetch(lengths, lengths_.data());
    const auto entries = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
    Object facts;
    facts.add("rebuilds", here_.rebuilds).add("skin", skin_).add("cells_along_an_edge", edge_);
    facts.add("steps_a_rebuild",
              static_cast<double>(here_.steps) / static_cast<double>(std::max<std::int64_t>(1, here_.rebuilds)));
    facts.add("neighbours_each", static_cast<double>(entries) / static_cast<double>(n_));
    facts.add("longest_list", here_.longest).add("room_of_a_list", room_).add("lists_made_longer", repairs_);
    facts.add("list_bytes", list_.bytes()).add("threads_a_particle", lanes());
    facts.add("blocks", blocks()).add("threads_a_block", threads());
    return facts;
  }

 private:
  static constexpr auto kPrecision = sizeof(T) == 4 ? lj::Precision::mixed : lj::Precision::both_double;

  // --------------------------------------------------------------------------------------------------- how much of
  // what

  [[nodiscard]] int lanes() const { return kLanes[which_]; }
  [[nodiscard]] std::size_t groups() const {
    const std::size_t each = kWarp / static_cast<unsigned>(lanes());
    return (n_ + each - 1) / each;
  }
  [[nodiscard]] unsigned threads() const {
    return limits_.threads > 0 ? limits_.threads : device_.info().backend == "host" ? kHostThreads : kThreads;
  }
  /// As many as are on the device at once, since they wait for one another; fewer where there is no more to do.
  [[nodiscard]] unsigned blocks() const {
    const gpu::Grid grid{.blocks = 1, .threads = threads(), .cooperative = true};
    const std::size_t useful = (groups() + threads() / kWarp - 1) / (threads() / kWarp);
    return static_cast<unsigned>(
        std::clamp<std::size_t>(steps_[which_].resident_blocks(grid), 1, std::max<std::size_t>(1, useful)));
  }
  [[nodiscard]] double half_kick() const { return physics_.dt / 2 * physics_.force_factor; }

  void require(std::size_t bytes) const {
    const std::size_t there = gpu::usable(device_.free_bytes());
    if (bytes <= there) return;
    throw gpu::Failure(gpu::State::out_of_memory,
                       device_.info().name + ": " + std::to_string(n_) + " particles need " + show_bytes(bytes) +
                           " more, and " + show_bytes(there) + " are free",
                       "ask for fewer --particles, or a smaller --cutoff or --skin");
  }

  void prepare_cells() {
    const auto rows = lj::rows_by_curve(edge_);
    std::vector<std::uint32_t> rank(rows.size());
    for (std::uint32_t k = 0; k < rows.size(); ++k) rank[rows[k]] = k;
    const std::size_t cells = rows.size() * edge_;
    if (begins_.size() < cells + 1) {
      begins_ = {}, counts_ = {}, rank_ = {};
      require((2 * cells + rank.size()) * sizeof(std::uint32_t));
      begins_ = {device_, cells + 1};
      counts_ = {device_, cells};
      rank_ = {device_, rank.size()};
    }
    device_.copy(rank_.data(), rank.data(), rank.size() * sizeof(std::uint32_t), stream_);
    device_.fill(counts_.data(), 0, counts_.bytes(), stream_);
    stream_.wait();
  }

  /// Lists of so many entries each.
  void make_room(std::uint32_t entries) {
    const auto shared = static_cast<std::uint32_t>(lanes());
    room_ = entries;
    rows_ = (entries + shared - 1) / shared;
    const std::size_t count = groups() * rows_ * kWarp;
    if (list_.size() >= count) return;
    list_ = {};
    require(count * sizeof(std::uint32_t));
    list_ = {device_, count};
  }

  // ------------------------------------------------------------------------------------------------------------
  // launches

  [[nodiscard]] Task<T> task() const {
    Task<T> task{};
    task.at = at_.data(), task.v = v_.data(), task.id = id_.data(), task.places = places_.data();
    task.stride = stride_;
    task.n = static_cast<std::uint32_t>(n_);
    task.edge = edge_, task.cells = edge_ * edge_ * edge_, task.rows = rows_;
    task.rank = rank_.data(), task.counts = counts_.data(), task.begins = begins_.data();
    task.totals = totals_.data();
    task.cell_of = cell_of_.data(), task.order = order_.data();
    task.lengths = lengths_.data(), task.list = list_.data();
    task.costs = costs_.data(), task.shares = shares_.data();
    const double unit = length_ * std::pow(2.0, -8.0 * sizeof(T)), range = (physics_.cutoff + skin_) * kSlack;
    task.unit = static_cast<T>(unit), task.unit2 = static_cast<T>(unit * unit);
    task.cutoff2 = static_cast<T>(physics_.cutoff * physics_.cutoff), task.range2 = static_cast<T>(range * range);
    task.skin = skin_, task.dt = physics_.dt;
    task.kick = physics_.dt * physics_.force_factor, task.drift = physics_.dt / length_ * 0x1p64;
    task.progress = progress_.data(), task.control = control_.data();
    return task;
  }

  /// As many groups to each block, until the device knows better.
  void share_out(unsigned count) {
    std::vector<std::uint32_t> shares(count + 1);
    for (std::size_t b = 0; b <= count; ++b) shares[b] = static_cast<std::uint32_t>(groups() * b / count);
    if (totals_.size() < count) totals_ = {device_, count};
    if (shares_.size() < shares.size()) shares_ = {device_, shares.size()};
    if (costs_.size() < groups()) costs_ = {device_, groups()};
    device_.copy(shares_.data(), shares.data(), shares.size() * sizeof(std::uint32_t), stream_);
    stream_.wait();
    shared_by_ = count;
  }

  void make_stale() {
    here_.moved = kStale;
    tell();
  }
  void tell() {
    *seen_.data() = here_;
    device_.copy(progress_.data(), seen_.data(), sizeof(Progress), stream_);
    stream_.wait();
  }

  /// Steps up to number `until`, with fresh lists at the end where that is asked. A list without room is given some,
  /// and the device goes on where it stopped.
  void proceed(std::int64_t until, bool refresh) {
    const unsigned count = blocks();
    if (shared_by_ != count) share_out(count);
    const gpu::Grid grid{.blocks = count, .threads = threads(), .cooperative = true};
    for (;;) {
      std::int64_t to = here_.steps;
      do {
        to = std::min(until, to + limits_.slice);
        device_.fill(control_.data(), 0, sizeof(Control), stream_);
        steps_[which_](grid, stream_, task(), to, refresh && to == until ? 1U : 0U);
      } while (to < until);
      device_.copy(seen_.data(), progress_.data(), sizeof(Progress), stream_);
      stream_.wait();
      here_ = *seen_.data();
      if (here_.overflow == 0) break;
      make_room(here_.longest + here_.longest / 8 + 8);
      ++repairs_;
      here_.overflow = 0;
      tell();
    }
    if (here_.steps == until) return;
    throw gpu::Failure(
        gpu::State::failed,
        device_.info().name + ": took " + std::to_string(here_.steps) + " steps of " + std::to_string(until),
        "its kernels did not do what they should: run scripts/gpu-check on this machine");
  }

  lj::Thermo observe(Reading reading) {
    proceed(here_.steps, true);
    const unsigned count = blocks();
    if (sums_.size() < std::size_t{count} * kSums) sums_ = {device_, std::size_t{count} * kSums};
    reading.side = here_.side, reading.now = here_.now, reading.sums = sums_.data();
    observe_[which_]({.blocks = count, .threads = threads()}, stream_, task(), reading);
    std::vector<double> parts(std::size_t{count} * kSums);
    fetch(parts, sums_.data());
    double sums[kSums] = {};
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i % kSums] += parts[i];
    return {.potential = sums[0] / 2,
            .kinetic = sums[3],
            .virial = sums[1] / 2,
            .pairs = sums[2] / 2,
            .px = sums[4],
            .py = sums[5],
            .pz = sums[6]};
  }

  template <class V>
  void fetch(std::vector<V>& to, const V* from) {
    device_.copy(to.data(), from, to.size() * sizeof(V), stream_);
    stream_.wait();
  }

  /// A fraction of the box as a number of 64 bits. A place of exactly its length, or a little below zero by rounding,
  /// wraps.
  static std::int64_t fixed(double fraction) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(std::fmod(fraction + 1, 1) * 0x1p64));
  }

  gpu::Device& device_;
  lj::Physics physics_;
  std::size_t n_, stride_ = 0;
  Limits limits_;
  gpu::Stream stream_;
  std::vector<gpu::Kernel<Task<T>, std::int64_t, std::uint32_t>> steps_;  // in the order of kLanes
  std::vector<gpu::Kernel<Task<T>, Reading>> observe_;
  gpu::Kernel<double*, std::size_t, double> scale_;
  gpu::Array<Progress> progress_, seen_;
  gpu::Array<Control> control_;
  gpu::Array<std::int64_t> at_;
  gpu::Array<double> v_, sums_;
  gpu::Array<Place<T>> places_;
  gpu::Array<std::uint32_t> id_, cell_of_, order_, lengths_, list_, counts_, begins_, totals_, rank_, costs_, shares_;
  double length_ = 0, skin_ = 0.4;
  std::size_t which_ = 2;  // of kLanes
  std::uint32_t edge_ = 0, room_ = 0, rows_ = 0;
  std::int64_t repairs_ = 0;
  unsigned shared_by_ = 0;  // blocks that the groups were shared out to
  Progress here_;
};

}  // namespace

std::unique_ptr<Fluid> make_fluid(gpu::Device& device, lj::Precision precision, const lj::Physics& physics,
                                  std::size_t particles, const Limits& limits) {
  if (precision == lj::Precision::mixed) return std::make_unique<OnDevice<float>>(device, physics, particles, limits);
  return std::make_unique<OnDevice<double>>(device, physics, particles, limits);
}

}  // namespace shakedown::gpu_lj
