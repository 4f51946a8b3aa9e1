#include "runs.hpp"

#include <cmath>

#include "common/clock.hpp"

namespace shakedown::hpl_gpu {
namespace {

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
    acquaint(grid, store_.column_transport(), store_.row_transport());
  }

  /// What the small system could not load, as its products were smaller. Before anything is generated.
  void rehearse() {
    if (setup_.base.n <= kWarmPanels * setup_.base.nb) return;
    const PhaseMark phase(bench_.emitter, "warmup", "products");
    Factorization(setup_, grid_, geometry_, store_, bench_.calls, {}).rehearse(kWarmPanels * setup_.base.nb);
  }

  void ceiling() {
    if (!bench_.options.hpl.ceiling) return;
    const PhaseMark phase(bench_.emitter, "ceiling");
    generate(geometry_, store_, bench_.calls, stream_);
    const Ceiling found = measure_ceiling(grid_, geometry_, store_, bench_.calls, stream_);
    auto& report = report_.hpl;
    report.ceiling_flop = reduced(found.flop, MPI_SUM, grid_.all);
    report.ceiling_seconds.insert(report.ceiling_seconds.end(), found.seconds.begin(), found.seconds.end());
    report.ceiling_spans.insert(report.ceiling_spans.end(), found.spans.begin(), found.spans.end());
  }

  void solve() {
    const auto& options = bench_.options.hpl;
    double total = 0;
    for (int repeat = 0; repeat == 0 || again(options, report_.hpl.seconds.size(), total, grid_.all); ++repeat) {
      const Result result = once(repeat == 0);
      total += report_.hpl.seconds.back();
      if (options.sweep.threshold > 0 && !verify(result)) break;
    }
  }

  Report take() { return std::move(report_); }

 private:
  Result once(bool first) {
    {
      const PhaseMark phase(bench_.emitter, "init", "matrix");
      generate(geometry_, store_, bench_.calls, stream_);
      damage(geometry_, store_, bench_.calls.device(), stream_, bench_.options.hpl.inject);
    }
    Factorization factorization(setup_, grid_, geometry_, store_, bench_.calls,
                                bench_.world.rank == 0 ? progress_of(bench_.emitter, setup_.base.n, "") : Progress{});
    gpu::Watch watch(bench_.calls.device().info(), bench_.options.nvml);
    MPI_Barrier(grid_.all);
    auto& report = report_.hpl;
    const std::int64_t begin_ns = unix_ns();
    Result result;
    {
      const PhaseMark phase(bench_.emitter, "measure", "factorization");
      result = factorization.run();
      report.seconds.push_back(reduced(result.seconds, MPI_MAX, grid_.all));
    }
    report.spans.push_back({begin_ns, unix_ns()});
    if (first) report_.conditions = watch.finish();
    add_shares(report.shares, result.shares, grid_.all);
    report_.panel_busy += reduced(result.panel_busy, MPI_SUM, grid_.all);
    return result;
  }

  /// False where another repeat could not be better.
  bool verify(const Result& result) {
    const PhaseMark phase(bench_.emitter, "verify");
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
  acquaint(grid, store.column_transport(), store.row_transport());
  generate(geometry, store, bench.calls, stream);
  Factorization(small, grid, geometry, store, bench.calls, {}).run();
  if (bench.world.rank == 0) bench.emitter.phase("warmup", "end");
}

Demand demand_of(const Setup& setup) {
  return {sizeof(double), [setup](const hpl::Config& config) {
            Setup one = setup;
            one.base = config;
            return Store::bytes(one, geometry_of(one, 0, 0));
          }};
}

}  // namespace

Report run(const Bench& bench, const Setup& setup) {
  Report report;
  Grid grid = make_grid(bench.world, setup.base);
  if (grid.inside()) {
    warm_up(bench, setup, grid);
    Runner runner(bench, setup, grid);
    runner.rehearse();
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
  const double flop =
      rows > 0 ? 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth) : 0;
  return time_products(flop, calls.device(), stream, grid.all, [&] {
    calls.gemm('T', rows, columns, depth, -1, store.local(0), store.ld(0), store.solved(side), ldu, 1,
               store.a(depth < g.part.height ? depth : 0, g.columns(0, side).begin), store.lda, stream);
  });
}

void require_room(const Bench& bench, const Setup& setup) {
  require_room(bench.world, bench.calls.device(), setup.base, demand_of(setup));
}

Index choose_n(const Bench& bench, const Setup& setup) {
  Sizing sizing;
  sizing.config = setup.base;
  sizing.unit = std::min<Index>(bench.options.hpl.sweep.nb.front(), 1 << 12);
  sizing.demand = demand_of(setup);
  sizing.overall = 1.03;
  sizing.panels = 16;
  sizing.ceiling = [&](const hpl::Config& config, const Grid& grid) {
    Setup small = setup;
    small.base = config;
    const Geometry geometry = geometry_of(small, grid.row, grid.column);
    Store store(bench.calls.device(), small, geometry);
    const gpu::Stream stream(bench.calls.device());
    generate(geometry, store, bench.calls, stream);
    return measure_ceiling(grid, geometry, store, bench.calls, stream);
  };
  return largest_n(bench.options.hpl, bench.world, bench.calls.device(), sizing);
}

}  // namespace shakedown::hpl_gpu
