#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>

#include "check.hpp"
#include "checkpoints.hpp"
#include "common/error.hpp"
#include "common/job.hpp"

namespace shakedown::hydro {
double timed(const Place& place, Solver& solver, std::int64_t steps) {
  MPI_Barrier(place.all);
  const double begin = now_s();
  solver.advance(steps);
  MPI_Barrier(place.all);
  return now_s() - begin;
}

std::int64_t agreed(const Place& place, std::int64_t mine) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(place.size));
  MPI_Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, place.all);
  return all.front();
}

void require_room(const Place& place, const Domain& domain, std::int64_t n, int times) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(times) *
                              Field::bytes_of(domain.own.right - domain.own.left, domain.own.high - domain.own.low);
  // The ranks of a host share its memory.
  std::vector<std::int64_t> all(static_cast<std::size_t>(place.host_size));
  const auto mine = static_cast<std::int64_t>(bytes);
  MPI_Allgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, place.host);
  std::uint64_t total = 0;
  for (const auto one : all) total += static_cast<std::uint64_t>(one);
  together(place.all, [&] {
    require_memory(total, std::to_string(n) + " x " + std::to_string(n) + " cells, " +
                              (times == 2 ? "twice" : "twice, and their checkpoints"));
  });
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

namespace {

constexpr double kSampleSeconds = 0.1;
constexpr std::size_t kMostSamples = 10'000;

struct Series {
  std::int64_t steps = 1;  // of each sample
  std::vector<double> seconds;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// Steps before anything is timed, and how many a sample has: an even number, since the first of two ends without
/// looking for the fastest wave.
std::int64_t warm_up(const Place& place, const Options& options, Solver& solver) {
  constexpr std::int64_t kFirst = 4;
  timed(place, solver, 2);
  const double seconds = timed(place, solver, kFirst);
  if (options.steps > 0) return options.steps;
  const double wanted = static_cast<double>(kFirst) * kSampleSeconds / std::max(seconds, 1e-7);
  return agreed(place, std::max<std::int64_t>(2, 2 * std::llround(std::min(wanted, 1e6) / 2)));
}

void spoil(const Options& options, Solver& solver, std::int64_t n) {
  const std::int64_t column = n / 3, row = n / 2;
  if (options.inject == Inject::mass) solver.spoil(column, row, kMass, 1e-3);
  if (options.inject == Inject::momentum) solver.spoil(column, row, kAlongY, 1e-3);
  if (options.inject == Inject::energy) solver.spoil(column, row, kEnergy, 1e-3);
  if (options.inject == Inject::nan) solver.spoil(column, row, kMass, std::numeric_limits<double>::quiet_NaN());
}

Series sample(const Place& place, const Options& options, Solver& solver, std::int64_t steps,
              const std::function<void(double)>& progress) {
  Series series;
  series.steps = steps;
  series.begin_ns = unix_ns();
  const double start = now_s();
  for (bool more = true; more;) {
    series.seconds.push_back(timed(place, solver, series.steps));
    if (series.seconds.size() == 1) spoil(options, solver, solver.domain().columns);
    const double by_count = static_cast<double>(series.seconds.size()) / static_cast<double>(options.samples);
    const double by_time = options.seconds > 0 ? (now_s() - start) / options.seconds : 1;
    more = agreed(place, by_count < 1 || by_time < 1 ? 1 : 0) != 0;
    progress(std::min({by_count, by_time, 1.0}));
    if (more && series.seconds.size() == kMostSamples) {  // hours of load stay a small file: join them two by two
      for (std::size_t i = 0; i < kMostSamples / 2; ++i) {
        series.seconds[i] = series.seconds[2 * i] + series.seconds[2 * i + 1];
      }
      series.seconds.resize(kMostSamples / 2);
      series.steps *= 2;
    }
  }
  series.end_ns = unix_ns();
  return series;
}

/// Samples up to the step at which the gas ends. A sample is of steps, and of the time in which a checkpoint keeps the
/// ranks from the next.
Series until_end(const Place& place, const Options& options, Solver& solver, Checkpoints* checkpoints,
                 const std::function<void(double)>& progress) {
  Series series;
  series.steps = options.steps;
  series.begin_ns = unix_ns();
  while (solver.progress().step < options.until) {
    MPI_Barrier(place.all);
    const double begin = now_s();
    solver.advance(options.steps);
    if (checkpoints != nullptr) checkpoints->after_sample(solver);
    MPI_Barrier(place.all);
    series.seconds.push_back(now_s() - begin);
    progress(static_cast<double>(solver.progress().step) / static_cast<double>(options.until));
  }
  series.end_ns = unix_ns();
  return series;
}

Case case_of(const Place& place, const Options& options, const Domain& domain, const Series& series) {
  Case out;
  out.kernel = "hydro";
  out.params.add("n", domain.columns).add("problem", word(options.problem));
  if (options.checkpoint.asked()) out.params.add("checkpoint_level", options.checkpoint.level);
  out.params.add("ranks", place.size).add("threads", place.team.size()).add("isa", place.isa.name);
  const std::int64_t cells = domain.columns * domain.rows;
  out.work.add("cell_steps", cells * series.steps).add("steps", series.steps);
  // A step reads each cell once and writes it once.
  out.work.add("bytes", cells * series.steps * 2 * kVariables * static_cast<std::int64_t>(sizeof(double)));
  out.seconds = series.seconds;
  out.begin_ns = series.begin_ns;
  out.end_ns = series.end_ns;
  return out;
}

}  // namespace

void measure(const Place& place, const Options& options, Emitter& emitter, std::int64_t n, double done, double share) {
  const std::string label = std::to_string(n) + " x " + std::to_string(n) + ", " + word(options.problem);
  Domain domain;
  together(place.all, [&] { domain = divide(place.all, n, n, options.rank_columns); });
  require_room(place, domain, n, 2);
  std::optional<Solver> solver;
  Totals before;
  {
    const PhaseMark phase(emitter, "init", label);
    together(place.all, [&] { solver.emplace(place.team, place.isa, domain, options.problem); });
    before = solver->totals();
  }
  std::optional<Checkpoints> checkpoints;
  std::int64_t steps = options.steps;
  {
    const PhaseMark phase(emitter, "warmup", label);
    if (options.checkpoint.asked()) {
      checkpoints.emplace(place.all, options.checkpoint, options.problem, emitter);
      checkpoints->restore(*solver);
    }
    if (options.until == 0) steps = warm_up(place, options, *solver);
  }
  Series series;
  {
    const PhaseMark phase(emitter, "measure", label);
    const auto progress = [&](double part) { emitter.progress(done + share * part, label); };
    series = options.until > 0 ? until_end(place, options, *solver, checkpoints ? &*checkpoints : nullptr, progress)
                               : sample(place, options, *solver, steps, progress);
  }
  std::optional<Residual> checked;
  Object found;
  found.add("steps", solver->progress().step).add("time_over_cell", solver->progress().time);
  found.add("rank_columns", domain.rank_columns).add("rank_rows", domain.rank_rows);
  found.add("digest", hexadecimal(solver->digest()));
  if (checkpoints) found.add("checkpoints", checkpoints->conclude());
  if (options.verify) {
    const PhaseMark phase(emitter, "verify", label);
    const Deviations deviation = deviations(*solver, options.problem, before);
    checked = {deviation.worst(), 1, "largest deviation over its bound"};
    found.add("deviations_over_bounds", deviation.facts());
  }
  emitter.facts(Object().add("gas of " + label, found));
  if (series.seconds.empty()) {
    emitter.notice("nothing-left",
                   "the checkpoint is of step " + std::to_string(options.until) + ", where the gas ends",
                   "nothing was timed");
    if (checked && !(checked->value <= checked->limit))
      throw Error(kCheckFailed, "the gas of the checkpoint deviates from what it began with", "run without it");
    return;
  }
  emitter.series(case_of(place, options, domain, series), checked ? &*checked : nullptr);
}

}  // namespace shakedown::hydro
