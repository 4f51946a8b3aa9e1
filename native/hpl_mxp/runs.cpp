#include "runs.hpp"

#include <cmath>

#include "common/clock.hpp"
#include "hpl/runs.hpp"
#include "hpl_gpu/devices.hpp"

namespace shakedown::hpl_mxp {
namespace {

constexpr int kWarm = 1, kSamples = 3;
constexpr double kSpare = 1 << 28;  // bytes of a device that are left to MPI and the driver

double reduced(double value, MPI_Op op, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm);
  return value;
}

/// For tests of the check: what it must find. Refinement would heal a changed entry of the factored matrix alone, so
/// that the residual is told of it too (Refinement's `enlarged`).
void damage(const Geometry& g, const Store& store, gpu::Device& device, const gpu::Stream& stream, hpl::Inject inject) {
  const bool first = g.part.row == 0 && g.part.column == 0 && g.part.height > 0;
  float value = 0;
  if (inject == hpl::Inject::entry && first) {
    device.copy(&value, store.a(0, 0), sizeof value, stream);
    stream.wait();
    value *= static_cast<float>(1 + kEnlarged);
    device.copy(store.a(0, 0), &value, sizeof value, stream);
  }
  if (inject == hpl::Inject::nan && first) {
    value = std::nanf("");
    device.copy(store.a(g.part.height / 2, 0), &value, sizeof value, stream);
  }
  if (inject == hpl::Inject::singular && g.part.column == 0)
    device.fill(store.a(0, 0), 0, static_cast<std::size_t>(g.part.height) * sizeof(float), stream);
  stream.wait();
}

Factorization::Progress progress_of(const Bench& bench, const Setup& setup, double begin) {
  if (bench.world.rank != 0) return {};
  return [&bench, n = static_cast<double>(setup.base.n), begin](Index columns) {
    const double left = n - static_cast<double>(columns);
    const double done = 1 - left * left * left / (n * n * n);
    if (!(done > 0)) return;
    const double passed = now_s() - begin;
    char text[160];
    std::snprintf(text, sizeof text, "N %.0f, column %lld: %.2f Tflop/s so far, %.0f s left, and the refinement", n,
                  static_cast<long long>(columns), done * hpl::flop_count(static_cast<Index>(n)) / passed / 1e12,
                  passed * (1 - done) / done);
    bench.emitter.progress(done, text);
  };
}

void acquaint(const Grid& grid, const Store& store) {
  if (grid.p > 1) hpl_gpu::acquaint(grid.in_column, store.column_transport());
  if (grid.q > 1) hpl_gpu::acquaint(grid.in_row, store.row_transport());
}

/// Factor and refine the matrix that is in the store.
Result solve(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
             const gpu::Stream& stream, Factorization::Progress progress, hpl::Inject inject) {
  Factorization factorization(setup, grid, geometry, store, calls, std::move(progress));
  Refinement refinement(setup, grid, geometry, store, calls, stream, inject == hpl::Inject::entry ? 0 : -1);
  MPI_Barrier(grid.all);
  const double start = now_s();
  Result result = factorization.run(start);
  refinement.run(result);
  result.seconds = now_s() - start;
  factorization.account(result);
  result.shares.other = result.seconds - result.factor_seconds;
  return result;
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
    if (!bench_.options.run.hpl.ceiling) return;
    const auto phase = within("ceiling", "");
    const Ceiling found = measure_ceiling(setup_, grid_, geometry_, store_, bench_.calls, stream_);
    report_.ceiling_flop = reduced(found.flop, MPI_SUM, grid_.all);
    report_.ceiling_seconds.insert(report_.ceiling_seconds.end(), found.seconds.begin(), found.seconds.end());
  }

  void repeat(gpu::Conditions& conditions) {
    const auto& options = bench_.options.run.hpl;
    double total = 0;
    int more = 1;
    for (bool first = true; more != 0; first = false) {
      const Result result = once(first, conditions);
      total += report_.seconds.back();
      if (options.sweep.threshold > 0 && !verify(result)) break;
      more = static_cast<std::int64_t>(report_.seconds.size()) < options.samples || total < options.seconds;
      MPI_Bcast(&more, 1, MPI_INT, 0, grid_.all);
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

  Result once(bool first, gpu::Conditions& conditions) {
    const auto inject = bench_.options.run.hpl.inject;
    {
      const auto phase = within("init", "matrix");
      const double begin = now_s();
      generate(grid_, geometry_, store_, bench_.calls, stream_);
      if (first) report_.generate_seconds = reduced(now_s() - begin, MPI_MAX, grid_.all);
      damage(geometry_, store_, bench_.calls.device(), stream_, inject);
    }
    gpu::Watch watch(bench_.calls.device().info(), bench_.options.run.nvml);
    if (first) report_.begin_ns = static_cast<double>(unix_ns());
    Result result;
    {
      const auto phase = within("measure", "solution");
      result =
          solve(setup_, grid_, geometry_, store_, bench_.calls, stream_, progress_of(bench_, setup_, now_s()), inject);
      report_.seconds.push_back(reduced(result.seconds, MPI_MAX, grid_.all));
    }
    if (first) {
      report_.end_ns = static_cast<double>(unix_ns());
      report_.residuals = result.residuals;
      conditions = watch.finish();
    }
    report_.factor_seconds.push_back(reduced(result.factor_seconds, MPI_MAX, grid_.all));
    report_.steps.push_back(static_cast<double>(result.residuals.size()) - 1);
    report_.converged = report_.converged && result.converged;
    for (const auto& account : kAccounts)
      report_.shares.*account.seconds += reduced(result.shares.*account.seconds, MPI_SUM, grid_.all);
    report_.panel_busy += reduced(result.panel_busy, MPI_SUM, grid_.all);
    return result;
  }

  /// False where another repeat could not be better.
  bool verify(const Result& result) {
    const auto phase = within("verify", "");
    const double found = check(grid_, geometry_, store_, bench_.calls, stream_, result.x).residual;
    if (!report_.checked || !(found <= report_.residual)) report_.residual = found;  // the worst; NaN stays
    report_.checked = true;
    return !std::isnan(found);
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
  generate(grid, geometry, store, bench.calls, stream);
  solve(small, grid, geometry, store, bench.calls, stream, {}, hpl::Inject::none);
  if (bench.world.rank == 0) bench.emitter.phase("warmup", "end");
}

/// Of the rank that has most. Where there are more panels than anybody counts the matrix alone is told.
Store::Bytes most_bytes(const Setup& setup) {
  constexpr Index kPanels = Index{1} << 20;
  const auto& c = setup.base;
  const auto n = static_cast<double>(c.n);
  if (c.n / c.nb > kPanels) return {n * n * sizeof(float) / c.p / c.q, 0};
  return Store::bytes(setup, geometry_of(setup, 0, 0));
}

}  // namespace

Report run(const Bench& bench, const Setup& setup, gpu::Conditions& conditions) {
  Report report;
  Grid grid = make_grid(bench.world, setup.base);
  if (grid.inside()) {
    warm_up(bench, setup, grid);
    Runner runner(bench, setup, grid);
    // Before the run and after it: a device's clock drifts with its temperature.
    runner.ceiling();
    runner.repeat(conditions);
    runner.ceiling();
    report = runner.take();
    MPI_Barrier(grid.all);
  }
  free_grid(grid);
  return report;
}

Ceiling measure_ceiling(const Setup& setup, const Grid& grid, const Geometry& g, Store& store, const Calls& calls,
                        const gpu::Stream& stream) {
  const Index depth = g.span(0).width, first_row = g.top_rows(0), first_column = g.own(0).end;
  const Index rows = store.rows_below(0), columns = store.columns_right(0);
  // Factors of the matrix's own distribution: the speed depends on what the numbers are. Each rank takes its own first
  // rows and columns, as the pieces of panel 0 have so much room everywhere.
  // The diagonal stays netlib's, which 16 bits hold.
  calls.generate(g.part, store.a(0, 0), store.lda, stream);
  const Index high = std::min(depth, g.part.height), wide = std::min(depth, g.part.width);
  calls.narrow(setup.precision, store.a(first_row, 0), store.lda, store.left(0), store.ld_left(0), rows, wide, 1,
               stream);
  calls.narrow(setup.precision, store.a(0, first_column), store.lda, store.top(0), store.ld_top(0), high, columns, 1,
               stream);
  const Index k = std::min(wide, high);
  Ceiling ceiling;
  ceiling.flop = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k);
  const gpu::Event begin(calls.device()), end(calls.device());
  for (int sample = 0; sample < kWarm + kSamples; ++sample) {
    stream.wait();
    MPI_Barrier(grid.all);
    begin.record(stream);
    calls.gemm(setup.precision, rows, columns, k, -1 / scale_of(setup.base.n), store.left(0), store.ld_left(0),
               store.top(0), store.ld_top(0), store.a(first_row, first_column), store.lda, stream);
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
  const auto& options = bench.options.run.hpl;
  const auto& c = setup.base;
  const Index unit = std::clamp<Index>(options.sweep.nb.front(), 2, 1 << 12);
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
  Index low = 1,
        high = 2 + static_cast<Index>(std::sqrt(room / sizeof(float) * c.p * c.q)) / unit;  // high does not fit
  while (high - low > 1) (fits((low + high) / 2) ? low : high) = (low + high) / 2;
  auto n = static_cast<std::int64_t>(low * unit);
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_MIN, bench.world.all);
  if (options.time_limit_s <= 0) return n;
  // A small product gives the rate; the loss to panels and to the refinement falls as 1 / N.
  const auto wide = static_cast<double>(unit * std::max(c.p, c.q));
  const Setup small = trial(std::min(n, 16 * unit * std::max(c.p, c.q)));
  Grid grid = make_grid(bench.world, small.base);
  double rate = 0;
  if (grid.inside()) {
    const Geometry geometry = geometry_of(small, grid.row, grid.column);
    Store store(bench.calls.device(), small, geometry);
    const gpu::Stream stream(bench.calls.device());
    const Ceiling ceiling = measure_ceiling(small, grid, geometry, store, bench.calls, stream);
    rate = reduced(ceiling.flop, MPI_SUM, grid.all) / *std::min_element(ceiling.seconds.begin(), ceiling.seconds.end());
  }
  free_grid(grid);
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, bench.world.group);
  const auto seconds = [&](Index of) {
    return hpl::flop_count(of) / rate * (1.05 + 40 * wide / static_cast<double>(of));
  };
  while (rate > 0 && n > unit && seconds(n) > options.time_limit_s) n -= unit;
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_MIN, bench.world.all);
  return n;
}

}  // namespace shakedown::hpl_mxp
