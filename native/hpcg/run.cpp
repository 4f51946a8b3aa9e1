#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "cg.hpp"
#include "checks.hpp"
#include "common/error.hpp"
#include "common/job.hpp"
#include "counts.hpp"
#include "triad.hpp"

namespace shakedown::hpcg {
namespace {

constexpr double kOfficialSeconds = 1800;  // of sets, by the rules
constexpr int kMostFactor = 10;            // times the reference's iterations that ours may need
constexpr double kOverheadSets = 10;       // a set bears a tenth of setting up and optimising, by the rules
constexpr double kSampleSeconds = 0.02;    // of a loop timed alone, at least
constexpr std::int64_t kLoopSamples = 10, kLeastSamples = 3;
constexpr double kLoopSeconds = 2;  // of all samples, where ranks wait for each other
constexpr int kTriadSamples = 20;

/// Seconds from when all ranks are ready until all are done.
template <class Work>
double timed(MPI_Comm all, Work&& work) {
  MPI_Barrier(all);
  const double begin = now_s();
  work();
  MPI_Barrier(all);
  return now_s() - begin;
}

double summed(MPI_Comm comm, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
  return all;
}

/// What rank 0 says, on all.
double agreed(MPI_Comm comm, double mine) {
  MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, comm);
  return mine;
}

/// One run on its way.
struct Run {
  const Place& place;
  const Options& options;
  Emitter& emitter;
  std::unique_ptr<Problem> problem;
  std::unique_ptr<Reference> reference;
  std::unique_ptr<Solver> solver;
  double setup_s = 0, optimisation_s = 0, reference_pass_s = 0, reference_s = 0;
  Solved by_reference;
  double reference_error = 0;  // of its solution
  int iterations = 0;          // of a set
  std::vector<double> sets;    // seconds
  std::vector<TimeSpan> spans;
  std::vector<double> reductions;  // of each set
  std::vector<double> history;     // of the first
  Deviations deviations;

  [[nodiscard]] Case like(const std::string& kernel) const {
    Case out;
    out.kernel = kernel;
    out.params.add("nx", options.n.x).add("ny", options.n.y).add("nz", options.n.z);
    out.params.add("ranks", place.size).add("threads", place.team.size()).add("isa", place.isa.name);
    return out;
  }
};

/// What memory gives the same threads: the triad, and a sum alone, since nine tenths of what moves here is read.
void tell_bandwidth(Run& run, stream::Kernel kernel) {
  const std::string name = stream::facts_of(kernel).name;
  Case out = run.like(name);
  std::optional<Residual> right;
  const PhaseMark phase(run.emitter, "measure", name);
  Bandwidth bench(run.place, run.options, kernel);
  out.work.add("bytes", bench.bytes());
  out.begin_ns = unix_ns();
  for (int k = 0; k < kTriadSamples; ++k) out.seconds.push_back(bench.sample());
  out.end_ns = unix_ns();
  if (run.options.verify) right = {bench.exact() ? 0.0 : 1.0, 0, "1 where an element or a sum is wrong"};
  run.emitter.series(out, right ? &*right : nullptr);
  run.emitter.facts(Object().add(name + "_array_bytes", bench.array_bytes()));
}

/// Problem setup, the time of the reference's kernels, and its fifty iterations.
void set_up_run(Run& run) {
  const PhaseMark phase(run.emitter, "init", "reference");
  const Place& place = run.place;
  run.setup_s = timed(place.all, [&] {
    run.problem = std::make_unique<Problem>(set_up(place.team, grid_of(place.all, run.options.n)));
  });
  run.reference = std::make_unique<Reference>(*run.problem);
  constexpr int kCalls = 3;
  Vector x(run.problem->finest().grid.rows(), run.problem->finest().halo.size());
  Vector y(run.problem->finest().grid.rows(), run.problem->finest().halo.size());
  run.reference_pass_s = timed(place.all,
                               [&] {
                                 for (int k = 0; k < kCalls; ++k) {
                                   run.reference->multiply(x, y);
                                   run.reference->cycle(run.problem->b, x);
                                 }
                               }) /
                         kCalls;
  const std::int64_t begin_ns = unix_ns();
  run.reference_s = timed(place.all, [&] {
    run.by_reference = conjugate_gradients(*run.reference, {kReferenceIterations, 0, true});
  });
  run.reference_error = distance_from_ones(run.reference->solution(), run.problem->finest().grid);
  Case out = run.like("reference");
  out.work.add("flop", set_flops(*run.problem, kReferenceIterations).sum()).add("iterations", kReferenceIterations);
  out.seconds = {run.reference_s};
  out.begin_ns = begin_ns;
  out.end_ns = unix_ns();
  run.emitter.series(out, nullptr);
}

/// The optimisation, the rules' tests, and how many iterations reach what the reference reached. Afterwards the plain
/// matrices are no longer there.
void optimise(Run& run) {
  const PhaseMark phase(run.emitter, "warmup", "optimisation and tests");
  const Place& place = run.place;
  run.optimisation_s = timed(place.all, [&] {
    together(place.all, [&] { run.solver = std::make_unique<Solver>(place.team, place.isa, *run.problem); });
  });
  if (run.options.verify) test_solver(*run.solver, *run.reference, run.deviations);
  run.reference.reset();
  for (auto& level : run.problem->levels) level->matrix = Csr();
  const double wanted = run.by_reference.reduction();
  const auto found = conjugate_gradients(*run.solver, {kMostFactor * kReferenceIterations, wanted, true});
  // Fewer than the reference's are not counted for us.
  run.iterations = std::max(kReferenceIterations, found.iterations);
  run.deviations.add("reduction_reached", found.reduction(), wanted);
  run.iterations = static_cast<int>(agreed(place.all, run.iterations));
}

void spoil(Run& run) {
  Sell& matrix = run.solver->matrix();
  // In the middle of rank 0's part, which no boundary is near.
  const Triple n = run.options.n;
  const std::int64_t chunk = run.solver->grid().row(n.x / 2, n.y / 2, n.z / 2) / kRows;
  const std::int64_t at = (matrix.upper_begin(chunk) + 2) * kRows + 3;
  if (run.place.rank != 0) return;
  switch (run.options.inject) {
    case Inject::nothing:
      break;
    case Inject::value:
      matrix.upper_values()[at] *= 1 + 1e-9;
      break;
    case Inject::column:
      ++matrix.upper_columns()[at];
      break;
    case Inject::nan:
      matrix.upper_values()[at] = std::numeric_limits<double>::quiet_NaN();
      break;
    case Inject::solution:
      run.solver->solution()[chunk * kRows] += 1e-3;
      break;
  }
}

/// The sets that are timed, all of as many iterations.
void time_sets(Run& run) {
  const PhaseMark phase(run.emitter, "measure", "sets");
  const auto& options = run.options;
  const double start = now_s();
  for (bool more = true; more;) {
    Solved found;
    const std::int64_t begin_ns = unix_ns();
    run.sets.push_back(timed(run.place.all, [&] {
      found = conjugate_gradients(*run.solver, {run.iterations, 0, true});
    }));
    run.spans.push_back({begin_ns, unix_ns()});
    run.reductions.push_back(found.reduction());
    if (run.history.empty()) run.history = found.history;
    if (run.sets.size() == 1) spoil(run);
    const double by_count = static_cast<double>(run.sets.size()) / static_cast<double>(options.samples);
    const double by_time = options.seconds > 0 ? (now_s() - start) / options.seconds : 1;
    more = agreed(run.place.all, by_count < 1 || by_time < 1 ? 1 : 0) > 0;
    run.emitter.progress(std::min({by_count, by_time, 1.0}), "sets");
  }
}

/// What a loop timed alone does in a pass, of all ranks.
struct Work {
  double flop = 0, bytes = 0;
};

void time_loop(Run& run, const std::string& kernel, const Work& work, const std::function<void()>& pass) {
  const MPI_Comm all = run.place.all;
  const auto sample = [&](std::int64_t passes) {
    return timed(all, [&] {
      for (std::int64_t p = 0; p < passes; ++p) pass();
    });
  };
  std::int64_t passes = 1;
  while (agreed(all, sample(passes)) < kSampleSeconds / 2) passes *= 2;
  Case out = run.like(kernel);
  const auto count = static_cast<double>(passes);
  out.work.add("flop", work.flop * count).add("bytes", summed(all, work.bytes) * count);
  out.begin_ns = unix_ns();
  const double start = now_s();
  for (bool more = true; more;) {
    out.seconds.push_back(sample(passes));
    const auto samples = static_cast<std::int64_t>(out.seconds.size());
    more = samples < kLoopSamples && (samples < kLeastSamples || agreed(all, now_s() - start) < kLoopSeconds);
  }
  out.end_ns = unix_ns();
  run.emitter.series(out, nullptr);
}

void time_loops(Run& run) {
  const PhaseMark phase(run.emitter, "measure", "loops alone");
  Solver& solver = *run.solver;
  const Problem& problem = *run.problem;
  const auto n = static_cast<double>(problem.equations), entries = static_cast<double>(problem.entries.front());
  const auto mine = static_cast<double>(problem.finest().grid.rows());
  const Traffic t = solver.traffic(0);
  Vector x = solver.vector(), y = solver.vector();
  solver.cycle(problem.b, x);
  time_loop(run, "spmv", {2 * entries, t.multiply}, [&] { solver.multiply(x, y); });
  time_loop(run, "symgs", {4 * entries, t.smooth}, [&] { solver.smooth(problem.b, x); });
  time_loop(run, "symgs_from_zero", {4 * entries, t.smooth_zero}, [&] { solver.smooth_zero(problem.b, x); });
  time_loop(run, "multigrid", {cycle_flops(problem), solver.cycle_bytes()}, [&] { solver.cycle(problem.b, x); });
  time_loop(run, "dot", {2 * n, 16 * mine}, [&] { solver.dot(x, y); });
  time_loop(run, "waxpby", {2 * n, 24 * mine}, [&] { solver.direction(0.5); });
}

/// What the sets left must still be right: the solution, the residual as it is, every row of every matrix.
void check(Run& run) {
  const PhaseMark phase(run.emitter, "verify", "sets");
  auto& deviations = run.deviations;
  const auto [low, high] = std::minmax_element(run.reductions.begin(), run.reductions.end());
  const bool numbers = std::all_of(run.reductions.begin(), run.reductions.end(), [](double r) { return r == r; });
  // Each set does the same in the same order: any difference is a fault.
  deviations.add("sets_apart", numbers ? *high - *low : std::numeric_limits<double>::quiet_NaN(),
                 std::numeric_limits<double>::min());
  // Rounding keeps the true residual of a well-conditioned system near 1e-15 of the right side where the recurrence
  // goes on.
  deviations.add("true_residual", true_residual(*run.solver), 2 * run.by_reference.reduction() + 1e-13);
  deviations.add("solution", distance_from_ones(run.solver->solution(), run.solver->grid()),
                 2 * run.reference_error + 1e-12);
  double wrong = 0;
  for (std::size_t level = 0; level < run.problem->levels.size(); ++level) {
    const auto row = wrong_row(*run.solver, level);
    if (!row) continue;
    ++wrong;
    const Triple w = run.solver->grid(level).whole();
    run.emitter.notice("hpcg.matrix",
                       "row " + std::to_string(row->row) + " of grid " + std::to_string(level) + " (point " +
                           std::to_string(row->row % w.x) + ", " + std::to_string(row->row / w.x % w.y) + ", " +
                           std::to_string(row->row / (w.x * w.y)) + ") times whole numbers is " + to_json(row->found) +
                           " and must be " + to_json(row->expected),
                       "a value or a column of the matrix has changed: look for errors of the memory");
  }
  deviations.add("matrices_with_a_wrong_row", wrong, 0.5);
}

void tell_sets(Run& run) {
  const double flops = set_flops(*run.problem, run.iterations).sum();
  const double bytes = summed(run.place.all, run.solver->iteration_bytes()) * run.iterations;
  std::optional<Residual> checked;
  if (run.options.verify) checked = {run.deviations.worst(), 1, "largest deviation over its bound"};
  Case sets = run.like("cg");
  sets.work.add("flop", flops).add("bytes", bytes).add("iterations", run.iterations);
  sets.seconds = run.sets;
  sets.begin_ns = run.spans.front().begin_ns;
  sets.end_ns = run.spans.back().end_ns;
  sets.spans = run.spans;
  run.emitter.series(sets, checked ? &*checked : nullptr);
  // By the rules: iterations beyond the reference's give no operations, and each set bears a tenth of what came before.
  Case rating = run.like("hpcg");
  rating.work.add("flop", flops * kReferenceIterations / run.iterations).add("iterations", run.iterations);
  for (const double s : run.sets) rating.seconds.push_back(s + (run.setup_s + run.optimisation_s) / kOverheadSets);
  run.emitter.series(rating, checked ? &*checked : nullptr);
}

void tell_facts(Run& run) {
  const Triple w = run.solver->grid().whole(), p = run.solver->grid().ranks;
  Object found;
  found.add("points", std::vector<std::int64_t>{w.x, w.y, w.z});
  found.add("rank_grid", std::vector<std::int64_t>{p.x, p.y, p.z});
  found.add("equations", run.problem->equations).add("entries", run.problem->entries);
  found.add("setup_s", run.setup_s).add("optimisation_s", run.optimisation_s);
  found.add("optimisation_over_reference_pass", run.optimisation_s / run.reference_pass_s);
  found.add("reference_s", run.reference_s).add("reference_reduction", run.by_reference.reduction());
  found.add("iterations", run.iterations).add("reference_iterations", kReferenceIterations);
  found.add("reductions", run.history);
  if (run.options.verify) found.add("deviations_over_bounds", run.deviations.facts());
  run.emitter.facts(Object().add("problem", found));
}

/// Why a list would not take this run.
void tell_official(Run& run) {
  double spent = 0;
  for (const double s : run.sets) spent += s;
  std::string why;
  if (spent < kOfficialSeconds) {
    why = "its sets lasted " + std::to_string(std::llround(spent)) + " s of 1800";
  }
  const double share = run.place.host_size * needed_bytes(run.options.n) / static_cast<double>(memory_room().bytes);
  if (share < 0.25) why += std::string(why.empty() ? "" : ", and ") + "it filled less than a quarter of the memory";
  if (why.empty()) return;
  run.emitter.notice("hpcg.unofficial", "HPCG's list would call this run INVALID: " + why,
                     "for a submission --seconds 1800, and larger --nx; the figure is a measurement all the same");
}

}  // namespace

double needed_bytes(const Triple& n) {
  // 27 entries of 12 bytes in both forms, ours with its filling, some vectors; coarser grids add a seventh.
  return static_cast<double>(n.product()) * 8 / 7 * (2 * 27 * 12 + 20 + 20 * 8);
}

void measure(const Place& place, const Options& options, Emitter& emitter) {
  together(place.all, [&] {
    require_memory(static_cast<std::uint64_t>(needed_bytes(options.n) * place.host_size),
                   std::to_string(options.n.x) + " x " + std::to_string(options.n.y) + " x " +
                       std::to_string(options.n.z) + " points of each rank");
  });
  Run run{place, options, emitter, {}, {}, {}, 0, 0, 0, 0, {}, 0, 0, {}, {}, {}, {}, {}};
  for (const auto kernel : {stream::Kernel::triad, stream::Kernel::read}) tell_bandwidth(run, kernel);
  set_up_run(run);
  optimise(run);
  time_sets(run);
  if (options.verify) check(run);
  tell_facts(run);
  tell_sets(run);
  time_loops(run);
  tell_official(run);
}

}  // namespace shakedown::hpcg
