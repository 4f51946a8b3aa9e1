#include "runs.hpp"

#include <cmath>

#include "common/cycles.hpp"

namespace shakedown::hpl {
namespace {

/// Without a new matrix the entries grow by a factor of some hundreds each time: from so many repeats on they would
/// leave the range of doubles.
constexpr std::int64_t kInPlace = 32;
/// What 64 bits hold, somewhat rounded down: a sum over ranks may be more.
constexpr double kMostBytes = 1.8e19;

double largest(double value, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}
double sum(double value, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
  return value;
}

System& system_for(Bench& bench, const Config& config, const Grid& grid) {
  if (bench.system == nullptr || !fits(bench.shape, config)) {
    bench.system.reset();  // first: both might not fit
    bench.system = std::make_unique<System>(config, grid, bench.options.pages);
    bench.shape = config;
  }
  return *bench.system;
}

/// The slowest core's clock, by additions that take a cycle each.
double slowest_clock_hz(Team& team, MPI_Comm comm) {
  std::vector<double> clocks(static_cast<std::size_t>(team.size()));
  team.run([&](int thread) { clocks[static_cast<std::size_t>(thread)] = clock_hz(); });
  return -largest(-*std::min_element(clocks.begin(), clocks.end()), comm);
}

/// For tests of the check: what it must find.
void damage(System& system, Inject inject) {
  const bool first = system.my_row == 0 && system.my_column == 0 && system.height > 0;
  if (inject == Inject::entry && first) *system.row(0) += 1e-3;
  if (inject == Inject::nan && first) *system.row(system.height / 2) = std::nan("");
  if (inject == Inject::singular && system.my_column == 0) {
    for (Index i = 0; i < system.height; ++i) *system.row(i) = 0;
  }
}

Factorization::Progress progress_of(Bench& bench, const Config& config, double begin) {
  if (bench.world.rank != 0) return {};
  return [&bench, config, begin](Index columns, const Shares& so_far) {
    const auto n = static_cast<double>(config.n);
    const double left = n - static_cast<double>(columns);
    const double done = 1 - left * left * left / (n * n * n);
    if (!(done > 0)) return;
    const double passed = now_s() - begin;
    const double all = total(so_far);
    const auto percent = [&](double part) { return all > 0 ? 100 * part / all : 0; };
    char text[200];
    std::snprintf(
        text, sizeof text,
        "N %lld, column %lld: %.1f Gflop/s so far; update %.0f %%, panel %.0f %%, messages %.0f %%, waiting %.0f %%; "
        "%.0f s left",
        static_cast<long long>(config.n), static_cast<long long>(columns), done * flop_count(config.n) / passed / 1e9,
        percent(so_far.update), percent(so_far.panel), percent(so_far.messages), percent(so_far.wait),
        passed * (1 - done) / done);
    bench.emitter.progress(done, text);
  };
}

void add_shares(Report& report, const Shares& mine, MPI_Comm comm) {
  for (const auto& account : kAccounts) report.shares.*account.seconds += sum(mine.*account.seconds, comm);
}

/// Whether another repeat is due; every rank gets the first one's answer.
bool again(const Options& options, const Report& report, double total, MPI_Comm comm) {
  int more = static_cast<std::int64_t>(report.seconds.size()) < options.samples || total < options.seconds;
  MPI_Bcast(&more, 1, MPI_INT, 0, comm);
  return more != 0;
}

void add_ceiling(Bench& bench, const Config& config, const Grid& grid, Report& report) {
  if (!bench.options.ceiling) return;
  if (bench.world.rank == 0) bench.emitter.phase("ceiling", "begin");
  System& system = system_for(bench, config, grid);
  system.generate(bench.team);
  const Ceiling ceiling = measure_ceiling(grid, bench.blas, bench.team, system, config.progress_thread ? 1 : 0);
  report.ceiling_flop = sum(ceiling.flop, grid.all);
  report.ceiling_seconds.insert(report.ceiling_seconds.end(), ceiling.seconds.begin(), ceiling.seconds.end());
  report.ceiling_spans.insert(report.ceiling_spans.end(), ceiling.spans.begin(), ceiling.spans.end());
  if (bench.world.rank == 0) bench.emitter.phase("ceiling", "end");
}

void solve(Bench& bench, const Config& config, const Grid& grid, Report& report) {
  System& system = system_for(bench, config, grid);
  const bool speaks = bench.world.rank == 0;
  const bool verify = bench.options.sweep.threshold > 0;
  double total = 0;
  for (std::int64_t repeat = 0; repeat == 0 || again(bench.options, report, total, grid.all); ++repeat) {
    const bool fresh = !bench.options.repeat_in_place || repeat % kInPlace == 0;
    if (fresh) {
      if (speaks) bench.emitter.phase("init", "begin", "matrix");
      system.generate(bench.team);
      damage(system, bench.options.inject);
      if (speaks) bench.emitter.phase("init", "end", "matrix");
    }
    if (repeat == 0) report.clock_hz[0] = slowest_clock_hz(bench.team, grid.all);
    Factorization factorization(config, grid, bench.blas, bench.loops, bench.team, system,
                                progress_of(bench, config, now_s()));
    MPI_Barrier(grid.all);
    if (speaks) bench.emitter.phase("measure", "begin", "factorization");
    const std::int64_t begin_ns = unix_ns();
    const Result result = factorization.run();
    const double seconds = largest(result.seconds, grid.all);
    report.spans.push_back({begin_ns, unix_ns()});
    if (speaks) bench.emitter.phase("measure", "end", "factorization");
    if (repeat == 0) report.clock_hz[1] = slowest_clock_hz(bench.team, grid.all);
    report.seconds.push_back(seconds);
    total += seconds;
    add_shares(report, result.shares, grid.all);
    if (!verify || (bench.options.repeat_in_place && repeat > 0)) continue;
    if (speaks) bench.emitter.phase("verify", "begin");
    const auto check = system.check(bench.team, grid, bench.loops, result.x);
    if (speaks) bench.emitter.phase("verify", "end");
    if (!report.checked || !(check.residual <= report.check.residual)) report.check = check;  // the worst; NaN stays
    report.checked = true;
    if (std::isnan(check.residual)) break;
  }
}

/// Panels 1 to `panels` of a matrix of each order: the first of all has no predecessor to hide behind.
void time_windows(Bench& bench, const Config& config, const Grid& grid, Report& report) {
  for (const double share : bench.options.windows) {
    Config part = config;
    part.n = std::max<Index>(1, std::llround(share * static_cast<double>(config.n)));
    const Index panels = (part.n + part.nb - 1) / part.nb;
    part.stop_after = std::min<Index>(bench.options.window_panels, panels - 1);
    if (part.stop_after < 1) continue;
    System& system = system_for(bench, part, grid);
    system.generate(bench.team);
    Factorization factorization(part, grid, bench.blas, bench.loops, bench.team, system, {});
    const auto stamps = factorization.run().stamps;
    const auto cube = [](Index n) { return 2.0 / 3.0 * std::pow(static_cast<double>(std::max<Index>(n, 0)), 3); };
    Window window;
    window.order = static_cast<double>(part.n);
    window.panels = static_cast<double>(part.stop_after);
    window.flop = cube(part.n - part.nb) - cube(part.n - (part.stop_after + 1) * part.nb);
    window.seconds = largest(stamps.back() - stamps.front(), grid.all);
    window.span.begin_ns = unix_ns_of(stamps.front());
    window.span.end_ns = window.span.begin_ns + std::llround(window.seconds * 1e9);
    report.windows.push_back(window);
  }
}

}  // namespace

bool fits(const Config& made, const Config& wanted) {
  return made.n == wanted.n && made.nb == wanted.nb && made.p == wanted.p && made.q == wanted.q &&
         made.depth == wanted.depth && made.split == wanted.split && made.column_major == wanted.column_major;
}

double flop_count(Index n) {
  const auto order = static_cast<double>(n);
  return 2.0 / 3.0 * order * order * order + 1.5 * order * order;
}

Report run(Bench& bench, const Config& config) {
  Report report;
  Grid grid = make_grid(bench.world, config);
  if (grid.inside()) {
    // Before the run and after it: a machine's speed drifts.
    add_ceiling(bench, config, grid, report);
    if (bench.options.windows.empty()) {
      solve(bench, config, grid, report);
    } else {
      time_windows(bench, config, grid, report);
    }
    add_ceiling(bench, config, grid, report);
    MPI_Barrier(grid.all);
  }
  free_grid(grid);
  return report;
}

void require_room(const World& world, const Config& config, int threads) {
  const bool inside = world.group_rank < config.p * config.q;
  const double bytes = sum(inside ? static_cast<double>(run_bytes(config, threads)) : 0, world.host);
  together(world.all, [&] {
    if (world.host_rank == 0) {
      require_memory(static_cast<std::uint64_t>(std::min(bytes, kMostBytes)),
                     "N = " + std::to_string(config.n) + " with NB = " + std::to_string(config.nb) + ": the ranks of " +
                         world.my_host());
    }
  });
}

Index choose_n(Bench& bench, const Config& config) {
  const auto& options = bench.options;
  const auto room = static_cast<double>(memory_room().bytes) * options.memory_share;
  const auto unit = config.nb;
  const auto bytes_at = [&](Index n) {
    Config trial = config;
    trial.n = n;
    return static_cast<double>(run_bytes(trial, bench.team.size())) *
           std::min(bench.world.host_size, config.p * config.q);
  };
  auto units = static_cast<Index>(std::sqrt(room / 8 * std::max(1.0, static_cast<double>(config.p * config.q))) /
                                  static_cast<double>(unit)) +
               1;
  while (units > 1 && bytes_at(units * unit) > room) --units;
  if (options.time_limit_s > 0) {
    // A small run of its own gives the rate; the loss to panels and the rest falls as 1 / N.
    Config trial = config;
    trial.n = std::min(units * unit, 16 * unit * std::max(config.p, config.q));
    Grid grid = make_grid(bench.world, trial);
    double rate = 0;
    if (grid.inside()) {
      System system(trial, grid, options.pages);
      system.generate(bench.team);
      const Ceiling ceiling = measure_ceiling(grid, bench.blas, bench.team, system, trial.progress_thread ? 1 : 0);
      const double flop = sum(ceiling.flop, grid.all);
      rate = flop / *std::max_element(ceiling.seconds.begin(), ceiling.seconds.end());
    }
    free_grid(grid);
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, bench.world.group);
    const auto seconds_at = [&](Index n) {
      const double loss = 4.0 * static_cast<double>(unit * std::max(config.p, config.q)) / static_cast<double>(n);
      return flop_count(n) / rate * (1.03 + loss);
    };
    while (units > 1 && seconds_at(units * unit) > options.time_limit_s) --units;
  }
  auto n = static_cast<std::int64_t>(units * unit);
  MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT64_T, MPI_MIN, bench.world.all);
  return n;
}

}  // namespace shakedown::hpl
