// The bodies of one device: which loops, how they are launched, and leapfrog without a word from the host between
// steps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/clock.hpp"
#include "gpu_nbody.hpp"
#include "shapes.hpp"

namespace shakedown::gpu_nbody {
namespace {

constexpr unsigned kMostParts = 64;
constexpr std::uint64_t kMostSums = std::uint64_t{256} << 20;  // bytes of the parts' sums: more parts gain nothing
constexpr double kTrialInteractions = 0x1p33;                  // of a trial: some milliseconds of a large device
constexpr std::int64_t kWarmNs = 250'000'000;                  // before trials: a clock rises within that

/// Bodies with those that fill up the last tile.
constexpr unsigned rounded(std::size_t n) { return static_cast<unsigned>((n + kTile - 1) / kTile * kTile); }
constexpr unsigned over(unsigned n, unsigned by) { return (n + by - 1) / by; }
unsigned parts_that_fit(unsigned count) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>(kMostSums / (3 * sizeof(double) * count), 1, kMostParts));
}

template <class T>
class Gpu final : public GpuBackend {
  static constexpr Precision kPrecision = sizeof(T) == 4 ? Precision::single : Precision::both_double;
  using Pairs = gpu::Kernel<const Body<T>*, double*, unsigned, unsigned, T>;
  using SetOff = gpu::Kernel<Body<T>*, T*, const double*, unsigned, unsigned, T, T>;
  using Finish =
      gpu::Kernel<Body<T>*, T*, const double*, double*, unsigned, unsigned, unsigned, double, T, T, unsigned>;

  /// One of the loops, and how it is launched for these bodies.
  struct Loop {
    Shape shape;
    Pairs run;
    unsigned blocks, resident;  // of targets; on the device at once
    Split split;
  };

 public:
  Gpu(gpu::Device& device, const nbody::Physics& physics, std::size_t n, const std::string& shape)
      : device_(device),
        stream_(device),
        begin_(device),
        end_(device),
        physics_(physics),
        n_(n),
        count_(rounded(n)),
        bodies_(device, count_),
        velocities_(device, std::size_t{3} * count_),
        field_(device, std::size_t{3} * count_),
        sums_(device, std::size_t{3} * count_ * std::min(parts_that_fit(count_), count_ / kTile)),
        set_off_(device, kModule, named("set_off").c_str()),
        finish_(device, kModule, named("finish").c_str()),
        add_potentials_(device, kModule, "add_potentials"),
        potential_(loop(named("potential"), {"", kPrecision == Precision::single ? 4U : 2U})) {
    std::vector<Loop> loops;
    for (const Shape& one : shapes_of(shape, kPrecision)) {
      loops.push_back(loop(named("forces").append("_").append(one.word), one));
    }
    device_.fill(bodies_.data(), 0, bodies_.bytes(), stream_);
    const bool one = loops.size() == 1 || device.info().backend == "host";  // there nothing is to be gained
    loop_ = std::make_unique<Loop>(one ? loops.front() : fastest(loops));
  }

  [[nodiscard]] std::string shape() const override {
    return std::string(loop_->shape.word).append(", ").append(std::to_string(loop_->split.parts)).append(" parts");
  }

  void load(const nbody::Bodies& bodies) override {
    std::vector<Body<T>> places(count_, Body<T>{0, 0, 0, 0});
    std::vector<T> velocities(std::size_t{3} * count_, T{0});
    for (std::size_t i = 0; i < n_; ++i) {
      places[i] = {static_cast<T>(bodies.x[i]), static_cast<T>(bodies.y[i]), static_cast<T>(bodies.z[i]),
                   static_cast<T>(bodies.m[i])};
      velocities[i] = static_cast<T>(bodies.vx[i]);
      velocities[count_ + i] = static_cast<T>(bodies.vy[i]);
      velocities[2 * std::size_t{count_} + i] = static_cast<T>(bodies.vz[i]);
    }
    device_.copy(bodies_.data(), places.data(), bodies_.bytes(), stream_);
    device_.copy(velocities_.data(), velocities.data(), velocities_.bytes(), stream_);
    stream_.wait();
  }

  nbody::Field evaluate() override {
    nbody::Field found;
    found.phi = potentials();
    pairs(*loop_);
    after_pairs(kFieldOnly);
    std::vector<double>* const columns[] = {&found.ax, &found.ay, &found.az};
    for (std::size_t c = 0; c < 3; ++c) fetch(*columns[c], c);
    return found;
  }

  double advance(std::int64_t steps) override {
    begin_.record(stream_);
    set_off_(one_each(), stream_, bodies_.data(), velocities_.data(), field_.data(), n(), count_, half(), dt());
    for (std::int64_t step = 1; step <= steps; ++step) {
      pairs(*loop_);
      after_pairs(step < steps ? kKickAndGoOn : kKick);
    }
    end_.record(stream_);
    return begin_.seconds_until(end_);
  }

  void store(nbody::Bodies& bodies) override {
    std::vector<Body<T>> places(count_);
    std::vector<T> velocities(std::size_t{3} * count_);
    device_.copy(places.data(), bodies_.data(), bodies_.bytes(), stream_);
    device_.copy(velocities.data(), velocities_.data(), velocities_.bytes(), stream_);
    stream_.wait();
    bodies.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      bodies.x[i] = static_cast<double>(places[i].x);
      bodies.y[i] = static_cast<double>(places[i].y);
      bodies.z[i] = static_cast<double>(places[i].z);
      bodies.vx[i] = static_cast<double>(velocities[i]);
      bodies.vy[i] = static_cast<double>(velocities[count_ + i]);
      bodies.vz[i] = static_cast<double>(velocities[2 * std::size_t{count_} + i]);
    }
  }

 private:
  static std::string named(const std::string& kernel) { return kernel + '_' + nbody::word(kPrecision); }
  [[nodiscard]] unsigned n() const { return static_cast<unsigned>(n_); }
  [[nodiscard]] T eps2() const { return static_cast<T>(physics_.softening * physics_.softening); }
  [[nodiscard]] T half() const { return static_cast<T>(physics_.dt / 2); }
  [[nodiscard]] T dt() const { return static_cast<T>(physics_.dt); }
  [[nodiscard]] gpu::Grid one_each() const { return {.blocks = over(count_, kThreads), .threads = kThreads}; }

  [[nodiscard]] Loop loop(const std::string& name, const Shape& shape) {
    const Pairs run(device_, kModule, name.c_str());
    const unsigned blocks = over(count_, kThreads * shape.rows);
    const unsigned resident = std::max(1U, run.resident_blocks({.blocks = blocks, .threads = kThreads}));
    return {shape, run, blocks, resident, split(blocks, count_ / kTile, resident, parts_that_fit(count_))};
  }

  void pairs(const Loop& loop) {
    const gpu::Grid grid{.blocks = loop.blocks, .threads = kThreads, .blocks_y = loop.split.parts};
    loop.run(grid, stream_, bodies_.data(), sums_.data(), count_, loop.split.each, eps2());
  }
  void after_pairs(unsigned after) {
    finish_(one_each(), stream_, bodies_.data(), velocities_.data(), sums_.data(), field_.data(), n(), count_,
            loop_->split.parts, physics_.force_factor, half(), dt(), after);
  }

  /// A loop as it is tried: over all pairs, or over some rounds of blocks.
  [[nodiscard]] Loop trial_of(const Loop& loop) const {
    Loop trial = loop;
    if (static_cast<double>(count_) * count_ <= kTrialInteractions) return trial;
    trial.blocks = std::min(loop.blocks, loop.resident);
    const double row = static_cast<double>(trial.blocks) * kThreads * trial.shape.rows * kTile;
    trial.split = {1, std::clamp(static_cast<unsigned>(kTrialInteractions / row), 1U, count_ / kTile)};
    return trial;
  }

  double seconds_of(const Loop& loop) {
    begin_.record(stream_);
    pairs(loop);
    end_.record(stream_);
    return begin_.seconds_until(end_);
  }

  /// The loop that does most interactions in a second. By turns, each at its best: a device that rested has a low
  /// clock, and one that warms up a falling one.
  Loop fastest(const std::vector<Loop>& loops) {
    std::vector<Loop> trials;
    trials.reserve(loops.size());
    for (const Loop& loop : loops) trials.push_back(trial_of(loop));
    const std::int64_t begin_ns = monotonic_ns();
    do {
      for (const Loop& trial : trials) seconds_of(trial);  // the first of each loads its kernel
    } while (monotonic_ns() - begin_ns < kWarmNs);
    std::vector<double> least(trials.size(), std::numeric_limits<double>::infinity());
    for (int turn = 0; turn < 4; ++turn) {
      for (std::size_t i = 0; i < trials.size(); ++i) least[i] = std::min(least[i], seconds_of(trials[i]));
    }
    const auto rate = [&](std::size_t i) {
      const Loop& trial = trials[i];
      const unsigned tiles = std::min(trial.split.parts * trial.split.each, count_ / kTile);
      return static_cast<double>(trial.blocks) * trial.shape.rows * tiles / std::max(least[i], 1e-9);
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < trials.size(); ++i) {
      if (rate(i) > rate(best)) best = i;
    }
    return loops[best];
  }

  /// A loop of their own; the body's own, m / eps, comes off again.
  std::vector<double> potentials() {
    pairs(potential_);
    add_potentials_(one_each(), stream_, sums_.data(), field_.data(), count_, potential_.split.parts);
    std::vector<double> phi;
    fetch(phi, 0);
    std::vector<Body<T>> places(count_);
    device_.copy(places.data(), bodies_.data(), bodies_.bytes(), stream_);
    stream_.wait();
    const double root = std::sqrt(static_cast<double>(eps2()));
    for (std::size_t i = 0; i < n_; ++i) phi[i] = -(phi[i] - static_cast<double>(places[i].m) / root);
    return phi;
  }

  void fetch(std::vector<double>& column, std::size_t row) {
    column.resize(n_);
    device_.copy(column.data(), field_.data() + row * count_, n_ * sizeof(double), stream_);
    stream_.wait();
  }

  gpu::Device& device_;
  gpu::Stream stream_;
  gpu::Event begin_, end_;
  nbody::Physics physics_;
  std::size_t n_;
  unsigned count_;
  gpu::Array<Body<T>> bodies_;
  gpu::Array<T> velocities_;
  gpu::Array<double> field_, sums_;
  SetOff set_off_;
  Finish finish_;
  gpu::Kernel<const double*, double*, unsigned, unsigned> add_potentials_;
  Loop potential_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace

std::vector<Shape> shapes_of(const std::string& word, Precision precision) {
  std::vector<Shape> found;
  const auto take = [&](const Shape& shape) {
    if (word == "auto" || word == shape.word) found.push_back(shape);
  };
  if (precision == Precision::single) {
    std::for_each(std::begin(kSingle), std::end(kSingle), take);
  } else {
    std::for_each(std::begin(kDouble), std::end(kDouble), take);
  }
  return found;
}

Split split(unsigned blocks, unsigned tiles, unsigned resident, unsigned most) {
  constexpr double kStart = 0.25;  // of a tile's time: what a block takes before and after its tiles
  Split best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned wanted = 1; wanted <= std::min(most, tiles); ++wanted) {
    const unsigned each = over(tiles, wanted), parts = over(tiles, each);
    const double rounds = std::ceil(static_cast<double>(blocks) * parts / resident);
    const double cost = rounds * (each + kStart);
    if (cost < least) {
      least = cost;
      best = {parts, each};
    }
  }
  return best;
}

std::uint64_t device_bytes(std::size_t bodies, Precision precision) {
  const unsigned count = rounded(bodies);
  const std::uint64_t width = precision == Precision::single ? sizeof(float) : sizeof(double);
  return count * (7 * width + 3 * sizeof(double) * (1 + std::min(parts_that_fit(count), count / kTile)));
}

std::unique_ptr<GpuBackend> make_gpu(gpu::Device& device, Precision precision, const nbody::Physics& physics,
                                     std::size_t bodies, const std::string& shape) {
  if (precision == Precision::single) return std::make_unique<Gpu<float>>(device, physics, bodies, shape);
  return std::make_unique<Gpu<double>>(device, physics, bodies, shape);
}

}  // namespace shakedown::gpu_nbody
