#include "runs.hpp"

#include <cmath>

#include "common/clock.hpp"
#include "hpl_gpu/devices.hpp"

namespace shakedown::hpl_mxp {
namespace {

using hpl_gpu::Ceiling;
using hpl_gpu::reduced;

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

/// Factor and refine the matrix that is in the store.
Result solve(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
             const gpu::Stream& stream, Progress progress, hpl::Inject inject) {
  Factorization factorization(setup, grid, geometry, store, calls, std::move(progress));
  Refinement refinement(setup, grid, geometry, store, calls, stream, inject == hpl::Inject::entry ? 0 : -1);
  MPI_Barrier(grid.all);
  const std::int64_t begin_ns = unix_ns();
  const double start = now_s();
  Result result = factorization.run(start);
  result.begin_ns = begin_ns;
  refinement.run(result);
  result.seconds = now_s() - start;
  factorization.account(result);
  result.shares.other = result.seconds - result.factor_seconds;
  return result;
}

constexpr Index kWarmPanels = 6;  // of the small system that goes first

/// One grid's run, step by step.
class Runner {
 public:
  Runner(const Bench& bench, const Setup& setup, const Grid& grid)
      : bench_(bench),
        setup_(setup),
        grid_(grid),
        geometry_(geometry_of(setup, grid.row, grid.column)),
        store_(bench.calls.device(), setup, geometry_),
        stream_(bench.calls.device()) {
    hpl_gpu::acquaint(grid, store_.column_transport(), store_.row_transport());
  }

  /// What the small system could not load, as its products were smaller. Before anything is generated.
  void rehearse() {
    if (setup_.base.n <= kWarmPanels * setup_.base.nb) return;
    const PhaseMark phase(bench_.emitter, "warmup", "products");
    Factorization(setup_, grid_, geometry_, store_, bench_.calls, {}).rehearse(kWarmPanels * setup_.base.nb);
  }

  void ceiling() {
    if (!bench_.options.run.hpl.ceiling) return;
    const PhaseMark phase(bench_.emitter, "ceiling");
    const Ceiling found = measure_ceiling(setup_, grid_, geometry_, store_, bench_.calls, stream_);
    report_.ceiling_flop = reduced(found.flop, MPI_SUM, grid_.all);
    report_.ceiling_seconds.insert(report_.ceiling_seconds.end(), found.seconds.begin(), found.seconds.end());
    report_.ceiling_spans.insert(report_.ceiling_spans.end(), found.spans.begin(), found.spans.end());
  }

  void repeat(gpu::Conditions& conditions) {
    const auto& options = bench_.options.run.hpl;
    double total = 0;
    for (int repeat = 0; repeat == 0 || hpl_gpu::again(options, report_.seconds.size(), total, grid_.all); ++repeat) {
      const Result result = once(repeat == 0, conditions);
      total += report_.seconds.back();
      if (options.sweep.threshold > 0 && !verify(result)) break;
    }
  }

  Report take() { return std::move(report_); }

 private:
  Result once(bool first, gpu::Conditions& conditions) {
    const auto inject = bench_.options.run.hpl.inject;
    {
      const PhaseMark phase(bench_.emitter, "init", "matrix");
      const double begin = now_s();
      generate(grid_, geometry_, store_, bench_.calls, stream_);
      if (first) report_.generate_seconds = reduced(now_s() - begin, MPI_MAX, grid_.all);
      damage(geometry_, store_, bench_.calls.device(), stream_, inject);
    }
    gpu::Watch watch(bench_.calls.device().info(), bench_.options.run.nvml);
    Result result;
    {
      const PhaseMark phase(bench_.emitter, "measure", "solution");
      Progress progress;
      if (bench_.world.rank == 0)
        progress = hpl_gpu::progress_of(bench_.emitter, setup_.base.n, ", and the refinement");
      result = solve(setup_, grid_, geometry_, store_, bench_.calls, stream_, std::move(progress), inject);
      report_.seconds.push_back(reduced(result.seconds, MPI_MAX, grid_.all));
    }
    report_.spans.push_back({result.begin_ns, unix_ns()});
    if (first) {
      report_.residuals = result.residuals;
      conditions = watch.finish();
    }
    report_.factor_seconds.push_back(reduced(result.factor_seconds, MPI_MAX, grid_.all));
    report_.steps.push_back(static_cast<double>(result.residuals.size()) - 1);
    report_.converged = report_.converged && result.converged;
    hpl_gpu::add_shares(report_.shares, result.shares, grid_.all);
    report_.panel_busy += reduced(result.panel_busy, MPI_SUM, grid_.all);
    return result;
  }

  /// False where another repeat could not be better.
  bool verify(const Result& result) {
    const PhaseMark phase(bench_.emitter, "verify");
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
  Report report_;
};

/// A small system first, so that what is loaded and taken at a first call is there before anything is timed: the code
/// of kernels and products, cuBLAS' memory, MPI's ways between devices. It has its own memory, which is given back.
void warm_up(const Bench& bench, const Setup& setup, const Grid& grid) {
  Setup small = setup;
  small.base.n = std::min(setup.base.n, kWarmPanels * setup.base.nb);
  if (small.base.n == setup.base.n) return;
  if (bench.world.rank == 0) bench.emitter.phase("warmup", "begin");
  const Geometry geometry = geometry_of(small, grid.row, grid.column);
  Store store(bench.calls.device(), small, geometry);
  const gpu::Stream stream(bench.calls.device());
  hpl_gpu::acquaint(grid, store.column_transport(), store.row_transport());
  generate(grid, geometry, store, bench.calls, stream);
  solve(small, grid, geometry, store, bench.calls, stream, {}, hpl::Inject::none);
  if (bench.world.rank == 0) bench.emitter.phase("warmup", "end");
}

hpl_gpu::Demand demand_of(const Setup& setup) {
  return {sizeof(float), [setup](const hpl::Config& config) {
            Setup one = setup;
            one.base = config;
            return Store::bytes(one, geometry_of(one, 0, 0));
          }};
}

}  // namespace

Report run(const Bench& bench, const Setup& setup, gpu::Conditions& conditions) {
  Report report;
  Grid grid = make_grid(bench.world, setup.base);
  if (grid.inside()) {
    warm_up(bench, setup, grid);
    Runner runner(bench, setup, grid);
    runner.rehearse();
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
  const double flop = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k);
  return hpl_gpu::time_products(flop, calls.device(), stream, grid.all, [&] {
    calls.gemm(setup.precision, rows, columns, k, -1 / scale_of(setup.base.n), store.left(0), store.ld_left(0),
               store.top(0), store.ld_top(0), store.a(first_row, first_column), store.lda, stream);
  });
}

void require_room(const Bench& bench, const Setup& setup) {
  hpl_gpu::require_room(bench.world, bench.calls.device(), setup.base, demand_of(setup));
}

Index choose_n(const Bench& bench, const Setup& setup) {
  const auto& options = bench.options.run.hpl;
  hpl_gpu::Sizing sizing;
  sizing.config = setup.base;
  sizing.unit = std::clamp<Index>(options.sweep.nb.front(), 2, 1 << 12);
  sizing.demand = demand_of(setup);
  sizing.overall = 1.05;
  sizing.panels = 40;  // and the refinement
  sizing.ceiling = [&](const hpl::Config& config, const Grid& grid) {
    Setup small = setup;
    small.base = config;
    const Geometry geometry = geometry_of(small, grid.row, grid.column);
    Store store(bench.calls.device(), small, geometry);
    const gpu::Stream stream(bench.calls.device());
    return measure_ceiling(small, grid, geometry, store, bench.calls, stream);
  };
  return largest_n(options, bench.world, bench.calls.device(), sizing);
}

}  // namespace shakedown::hpl_mxp
