#include "runs.hpp"

#include <cmath>

#include "common/clock.hpp"

namespace shakedown::hpl_gpu {
namespace {

constexpr int kWarm = 1, kSamples = 3;
constexpr double kSpare = 1 << 28;  // bytes of a device that are left to MPI and the driver

double reduced(double value, MPI_Op op, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm);
  return value;
}

/// For tests of the check: what it must find.
void damage(const Geometry& g, const Store& store, gpu::Device& device, const gpu::Stream& stream, hpl::Inject inject) {
  const bool first = g.part.row == 0 && g.part.column == 0 && g.part.height > 0;
  const auto put = [&](double* at, double value) {
    device.copy(at, &value, sizeof value, stream);
    stream.wait();
  };
  if (inject == hpl::Inject::entry && first) put(store.a(0, 0), 0.4990234375);  // the first entry is 0.5
  if (inject == hpl::Inject::nan && first) put(store.a(g.part.height / 2, 0), std::nan(""));
  if (inject == hpl::Inject::singular && g.part.column == 0) {
    device.fill(store.a(0, 0), 0, static_cast<std::size_t>(g.part.height) * sizeof(double), stream);
    stream.wait();
  }
}

Factorization::Progress progress_of(const Bench& bench, const Setup& setup, double begin) {
  if (bench.world.rank != 0) return {};
  return [&bench, n = static_cast<double>(setup.base.n), begin](Index columns) {
    const double left = n - static_cast<double>(columns);
    const double done = 1 - left * left * left / (n * n * n);
    if (!(done > 0)) return;
    const double passed = now_s() - begin;
    char text[160];
    std::snprintf(text, sizeof text, "N %.0f, column %lld: %.2f Tflop/s so far, %.0f s left", n,
                  static_cast<long long>(columns), done * hpl::flop_count(static_cast<Index>(n)) / passed / 1e12,
                  passed * (1 - done) / done);
    bench.emitter.progress(done, text);
  };
}

/// Whether another repeat is due; every rank gets the first one's answer.
bool again(const hpl::Options& options, const hpl::Report& report, double total, MPI_Comm comm) {
  int more = static_cast<std::int64_t>(report.seconds.size()) < options.samples || total < options.seconds;
  MPI_Bcast(&more, 1, MPI_INT, 0, comm);
  return more != 0;
}

/// One grid's run, step by step.
class Runner {
 public:
  Runner(const Bench& bench, const Setup& setup, const Grid& grid)
      : bench_(bench),
        setup_(setup),
        grid_(grid),
        geometry_(geometry_of(setup, grid.row, grid.column)),
        store_(bench.calls.device(), setup, geometry_),
        stream_(bench.calls.device()),
        speaks_(bench.world.rank == 0) {
    acquaint(grid, store_);
  }

  void ceiling() {
    if (!bench_.options.hpl.ceiling) return;
    const auto phase = within("ceiling", "");
    generate(geometry_, store_, bench_.calls, stream_);
    const Ceiling found = measure_ceiling(grid_, geometry_, store_, bench_.calls, stream_);
    auto& report = report_.hpl;
    report.ceiling_flop = reduced(found.flop, MPI_SUM, grid_.all);
    report.ceiling_seconds.insert(report.ceiling_seconds.end(), found.seconds.begin(), found.seconds.end());
  }

  void solve() {
    const auto& options = bench_.options.hpl;
    double total = 0;
    for (int repeat = 0; repeat == 0 || again(options, report_.hpl, total, grid_.all); ++repeat) {
      const Result result = once(repeat == 0);
      total += report_.hpl.seconds.back();
      if (options.sweep.threshold > 0 && !verify(result)) break;
    }
  }

  Report take() { return std::move(report_); }

 private:
  /// A phase from here to the end of the scope.
  struct Phase {
    Emitter* emitter;
    const char* name;
    std::string label;
    Phase(Emitter* to, const char* what, std::string of) : emitter(to), name(what), label(std::move(of)) {
      if (emitter != nullptr) emitter->phase(name, "begin", label);
    }
    ~Phase() {
      if (emitter != nullptr) emitter->phase(name, "end", label);
    }
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;
  };
  [[nodiscard]] Phase within(const char* name, const std::string& label) const {
    return {speaks_ ? &bench_.emitter : nullptr, name, label};
  }

  Result once(bool first) {
    {
      const auto phase = within("init", "matrix");
      generate(geometry_, store_, bench_.calls, stream_);
      damage(geometry_, store_, bench_.calls.device(), stream_, bench_.options.hpl.inject);
    }
    Factorization factorization(setup_, grid_, geometry_, store_, bench_.calls, progress_of(bench_, setup_, now_s()));
    gpu::Watch watch(bench_.calls.device().info(), bench_.options.nvml);
    MPI_Barrier(grid_.all);
    auto& report = report_.hpl;
    if (first) report.begin_ns = static_cast<double>(unix_ns());
    Result result;
    {
      const auto phase = within("measure", "factorization");
      result = factorization.run();
      report.seconds.push_back(reduced(result.seconds, MPI_MAX, grid_.all));
    }
    if (first) {
      report.end_ns = static_cast<double>(unix_ns());
      report_.conditions = watch.finish();
    }
    for (const auto& account : hpl::kAccounts)
      report.shares.*account.seconds += reduced(result.shares.*account.seconds, MPI_SUM, grid_.all);
    report_.panel_busy += reduced(result.panel_busy, MPI_SUM, grid_.all);
    return result;
  }

  /// False where another repeat could not be better.
  bool verify(const Result& result) {
    const auto phase = within("verify", "");
    const auto found = check(grid_, geometry_, store_, bench_.calls, stream_, result.x);
    auto& report = report_.hpl;
    if (!report.checked || !(found.residual <= report.check.residual)) report.check = found;  // the worst; NaN stays
    report.checked = true;
    return !std::isnan(found.residual);
  }

  const Bench& bench_;
  const Setup& setup_;
  const Grid& grid_;
  Geometry geometry_;
  Store store_;
  gpu::Stream stream_;
  bool speaks_;
  Report report_;
};

/// A small system first, so that what is loaded and taken at a first call is there before anything is timed: the code
/// of kernels and products, cuBLAS' memory, MPI's ways between devices. It has its own memory, which is given back.
void warm_up(const Bench& bench, const Setup& setup, const Grid& grid) {
  constexpr Index kPanels = 6;
  Setup small = setup;
  small.base.n = std::min(setup.base.n, kPanels * setup.base.nb);
  if (small.base.n == setup.base.n) return;
  if (bench.world.rank == 0) bench.emitter.phase("warmup", "begin");
  const Geometry geometry = geometry_of(small, grid.row, grid.column);
  Store store(bench.calls.device(), small, geometry);
  const gpu::Stream stream(bench.calls.device());
  acquaint(grid, store);
  generate(geometry, store, bench.calls, stream);
  Factorization(small, grid, geometry, store, bench.calls, {}).run();
  if (bench.world.rank == 0) bench.emitter.phase("warmup", "end");
}

/// Of the rank that has most. Where there are more panels than anybody counts the matrix alone is told.
Store::Bytes most_bytes(const Setup& setup) {
  constexpr Index kPanels = Index{1} << 20;
  const auto& c = setup.base;
  const auto n = static_cast<double>(c.n);
  if (c.n / c.nb > kPanels) return {n * n * sizeof(double) / c.p / c.q, 0};
  return Store::bytes(setup, geometry_of(setup, 0, 0));
}

}  // namespace

Report run(const Bench& bench, const Setup& setup) {
  Report report;
  Grid grid = make_grid(bench.world, setup.base);
  if (grid.inside()) {
    warm_up(bench, setup, grid);
    Runner runner(bench, setup, grid);
    // Before the run and after it: a device's clock drifts with its temperature.
    runner.ceiling();
    runner.solve();
    runner.ceiling();
    report = runner.take();
    MPI_Barrier(grid.all);
  }
  free_grid(grid);
  return report;
}

Ceiling measure_ceiling(const Grid& grid, const Geometry& g, Store& store, const Calls& calls,
                        const gpu::Stream& stream) {
  const Index depth = g.span(0).width;
  const Side side = g.most(Side::right) >= g.most(Side::left) ? Side::right : Side::left;
  const Index columns = g.columns(0, side).count(), rows = g.part.height - std::min(depth, g.part.height);
  // Factors of the matrix's own distribution: the speed depends on what the numbers are.
  const auto random = [&](double* to, Index ld, Index height) {
    calls.generate({height, {height, 1}, {depth, 1}, 0, 0, height, depth}, to, ld, stream);
  };
  const Index ldu = Mover::width_for(columns);
  if (rows > 0 && columns > 0) {
    random(store.local(0), store.ld(0), store.ld(0));
    random(store.solved(side), ldu, ldu);
  }
  Ceiling ceiling;
  ceiling.flop =
      rows > 0 ? 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth) : 0;
  const gpu::Event begin(calls.device()), end(calls.device());
  for (int sample = 0; sample < kWarm + kSamples; ++sample) {
    stream.wait();
    MPI_Barrier(grid.all);
    begin.record(stream);
    calls.gemm('T', rows, columns, depth, -1, store.local(0), store.ld(0), store.solved(side), ldu, 1,
               store.a(depth < g.part.height ? depth : 0, g.columns(0, side).begin), store.lda, stream);
    end.record(stream);
    const double seconds = reduced(begin.seconds_until(end), MPI_MAX, grid.all);
    if (sample >= kWarm) ceiling.seconds.push_back(seconds);
  }
  return ceiling;
}

void require_room(const Bench& bench, const Setup& setup) {
  const auto& world = bench.world;
  const bool inside = world.group_rank < setup.base.p * setup.base.q;
  const auto needed = inside ? most_bytes(setup) : Store::Bytes{};
  const double pinned = reduced(needed.pinned, MPI_SUM, world.host);
  const auto free = static_cast<double>(bench.calls.device().free_bytes());
  const std::string what = "N = " + std::to_string(setup.base.n) + " with NB = " + std::to_string(setup.base.nb);
  together(world.all, [&] {
    if (needed.device > free) {
      throw cannot(what + " needs " + show_bytes(static_cast<std::uint64_t>(std::min(needed.device, 1.8e19))) + " of " +
                       bench.calls.device().info().name + " on " + world.my_host() + ", and " +
                       show_bytes(static_cast<std::uint64_t>(free)) + " are free",
                   "--n auto takes what fits; nvidia-smi shows who holds memory");
    }
    if (world.host_rank == 0 && pinned > 0)
      require_memory(static_cast<std::uint64_t>(std::min(pinned, 1.8e19)),
                     what + ": pinned buffers of " + world.my_host());
  });
}

Index choose_n(const Bench& bench, const Setup& setup) {
  const auto& options = bench.options.hpl;
  const auto& c = setup.base;
  const Index unit = std::min<Index>(options.sweep.nb.front(), 1 << 12);
  const double free = static_cast<double>(bench.calls.device().free_bytes()) - kSpare;
  const double room = std::max(0.0, free) * options.memory_share;
  const auto trial = [&](Index n) {
    Setup one = setup;
    one.base.n = n;
    one.base.nb = std::min(unit, n);
    return one;
  };
  const auto host_room = static_cast<double>(memory_room().bytes) * 0.8 / std::max(1, bench.world.host_size);
  const auto fits = [&](Index units) {
    const auto bytes = most_bytes(trial(units * unit));
    return bytes.device <= room && bytes.pinned <= host_room;
  };
  Index low = 1, high = 2 + static_cast<Index>(std::sqrt(room / 8 * c.p * c.q)) / unit;  // high does not fit
  while (high - low > 1) (fits((low + high) / 2) ? low : high) = (low + high) / 2;
  auto n = static_cast<std::int64_t>(low * unit);
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_MIN, bench.world.all);
  if (options.time_limit_s <= 0) return n;
  // A small product gives the rate; the loss to panels and the rest falls as 1 / N.
  const auto wide = static_cast<double>(unit * std::max(c.p, c.q));
  const Setup small = trial(std::min(n, 16 * unit * std::max(c.p, c.q)));
  Grid grid = make_grid(bench.world, small.base);
  double rate = 0;
  if (grid.inside()) {
    const Geometry geometry = geometry_of(small, grid.row, grid.column);
    Store store(bench.calls.device(), small, geometry);
    const gpu::Stream stream(bench.calls.device());
    generate(geometry, store, bench.calls, stream);
    const Ceiling ceiling = measure_ceiling(grid, geometry, store, bench.calls, stream);
    rate = reduced(ceiling.flop, MPI_SUM, grid.all) / *std::min_element(ceiling.seconds.begin(), ceiling.seconds.end());
  }
  free_grid(grid);
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, bench.world.group);
  const auto seconds = [&](Index of) {
    return hpl::flop_count(of) / rate * (1.03 + 16 * wide / static_cast<double>(of));
  };
  while (n > unit && seconds(n) > options.time_limit_s) n -= unit;
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_MIN, bench.world.all);
  return n;
}

}  // namespace shakedown::hpl_gpu
