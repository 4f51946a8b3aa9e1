#include "cost.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "check.hpp"
#include "common/error.hpp"
#include "common/job.hpp"
#include "cost_folders.hpp"

namespace shakedown::hydro {
namespace {

/// The shortest segment, where no interval was asked for, and how many times as long as a checkpoint it is: a
/// checkpoint takes longer to write while the gas goes on.
constexpr double kLeastSegment = 2, kOverDrain = 3;

/// So many steps of the gas, with a checkpoint at their begin or without.
struct Segment {
  double seconds = 0, blocked_s = 0, drain_s = 0;
  TimeSpan span;
};

/// What was measured of a level.
struct Costs {
  std::int64_t steps = 0;  // of a segment
  std::vector<Segment> with, without;
  std::vector<double> restart_s;
  std::int64_t resident_bytes = 0;  // that the library took, on all ranks
  int restored_level = 0;           // the safest that a restart took something from
  std::int64_t wrong = 0;           // restarts whose bits are not those that were saved
};

/// The gas, and what all levels have in common.
struct Gas {
  const Place& place;
  const Options& options;
  Emitter& emitter;
  const Domain& domain;
  Solver& solver;
  CostFolders& folders;
  double step_s = 0;
  [[nodiscard]] std::int64_t state_bytes() const {
    return domain.columns * domain.rows * kVariables * static_cast<std::int64_t>(sizeof(double));
  }
};

std::int64_t resident_bytes(MPI_Comm all) {
  std::int64_t mine = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    long long size = 0, resident = 0;
    if (std::fscanf(file, "%lld %lld", &size, &resident) == 2) mine = resident * sysconf(_SC_PAGESIZE);
    static_cast<void>(std::fclose(file));
  }
  std::int64_t total = 0;
  MPI_Allreduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, all);
  return total;
}

double longest(MPI_Comm all, double mine) {
  double found = 0;
  MPI_Allreduce(&mine, &found, 1, MPI_DOUBLE, MPI_MAX, all);
  return found;
}

/// Throws on all ranks alike unless one more checkpoint of this level was committed.
void require_committed(const Gas& gas, Checkpoints& checkpoints, int level, std::uint64_t before) {
  const bool more = checkpoints.statistics().level[level].committed > before;
  if (agreed(gas.place, more ? 1 : 0) == 0) {
    throw cannot("a checkpoint of level " + std::to_string(level) + " was not committed", "the notices say why");
  }
}

Segment segment(const Gas& gas, std::int64_t steps, Checkpoints* checkpoints, int level) {
  Segment found;
  const auto before = checkpoints != nullptr ? checkpoints->statistics().level[level] : shakedown_ckpt_level_stats{};
  MPI_Barrier(gas.place.all);
  found.span.begin_ns = unix_ns();
  const double begin = now_s();
  if (checkpoints != nullptr) {
    checkpoints->save(gas.solver, level);
    found.blocked_s = now_s() - begin;
  }
  gas.solver.advance(steps);
  if (checkpoints != nullptr) checkpoints->settle();
  MPI_Barrier(gas.place.all);
  found.seconds = now_s() - begin;
  found.span.end_ns = unix_ns();
  if (checkpoints != nullptr) {
    require_committed(gas, *checkpoints, level, before.committed);
    found.blocked_s = longest(gas.place.all, found.blocked_s);
    found.drain_s = longest(gas.place.all, checkpoints->statistics().level[level].drain_seconds - before.drain_seconds);
  }
  return found;
}

/// Steps of a segment: an even number, which begins and ends in the same order of dimensions.
std::int64_t steps_of(const Gas& gas, double drain_s) {
  const double asked = gas.options.cost.interval_s;
  const double seconds = asked > 0 ? asked : std::max(kLeastSegment, kOverDrain * drain_s);
  const double steps = std::clamp(seconds / gas.step_s, 2.0, 1e9);
  return agreed(gas.place, 2 * std::llround(steps / 2));
}

/// Pairs of segments; which of the two comes first alternates, so that a drift of the machine takes both alike.
void measure_pairs(const Gas& gas, Checkpoints& checkpoints, int level, Costs& costs) {
  const auto first = segment(gas, 2, &checkpoints, level);  // touches memory that later ones find there
  costs.steps = steps_of(gas, std::max(first.seconds - 2 * gas.step_s, first.drain_s));
  for (std::int64_t pair = 0; pair < gas.options.cost.pairs; ++pair) {
    for (const bool with : {pair % 2 == 1, pair % 2 == 0}) {
      (with ? costs.with : costs.without).push_back(segment(gas, costs.steps, with ? &checkpoints : nullptr, level));
    }
  }
}

/// Restarts of a gas that has gone on since, from what a failure of this class leaves.
void measure_restarts(const Gas& gas, std::uint64_t saved, int level, Costs& costs) {
  for (std::int64_t i = 0; i < gas.options.cost.restarts; ++i) {
    gas.solver.advance(2);
    gas.folders.lose(level);
    gas.folders.forget();
    MPI_Barrier(gas.place.all);
    const double begin = now_s();
    Checkpoints again(gas.place.all, gas.folders.options(level), gas.options.problem, gas.emitter);
    const bool restored = again.restore(gas.solver);
    MPI_Barrier(gas.place.all);
    costs.restart_s.push_back(now_s() - begin);
    if (gas.options.inject != Inject::nothing) {
      const std::int64_t n = gas.domain.columns;
      gas.solver.spoil(n / 3, n / 2, kMass, 1e-3);
    }
    costs.restored_level = std::max(costs.restored_level, again.statistics().restored_level);
    if (!restored || gas.solver.digest() != saved) ++costs.wrong;
  }
}

Costs measure_level(const Gas& gas, int level) {
  Costs costs;
  const std::int64_t before = resident_bytes(gas.place.all);
  auto checkpoints =
      std::make_unique<Checkpoints>(gas.place.all, gas.folders.options(level), gas.options.problem, gas.emitter);
  checkpoints->restore(gas.solver);  // there is nothing yet
  measure_pairs(gas, *checkpoints, level, costs);
  costs.resident_bytes = resident_bytes(gas.place.all) - before;
  const auto committed = checkpoints->statistics().level[level].committed;
  checkpoints->save(gas.solver, level);
  checkpoints->settle();
  require_committed(gas, *checkpoints, level, committed);
  const std::uint64_t saved = gas.solver.digest();
  checkpoints.reset();
  measure_restarts(gas, saved, level, costs);
  return costs;
}

// ------------------------------------------------------------------------------------------------- what is printed

Case case_of(const Gas& gas, int level, const char* kernel) {
  Case out;
  out.kernel = kernel;
  out.params.add("checkpoint_level", level).add("n", gas.domain.columns).add("problem", word(gas.options.problem));
  out.params.add("ranks", gas.place.size).add("threads", gas.place.team.size()).add("isa", gas.place.isa.name);
  if (gas.folders.emulated()) out.params.add("emulated_nodes", gas.folders.nodes());
  if (gas.options.cost.interval_s > 0) out.params.add("interval", gas.options.cost.interval_s);
  return out;
}

Case case_of(const Gas& gas, int level, const char* kernel, std::vector<double> seconds) {
  Case out = case_of(gas, level, kernel);
  out.work.add("bytes", gas.state_bytes());
  out.seconds = std::move(seconds);
  return out;
}

Case case_of(const Gas& gas, int level, const char* kernel, std::int64_t steps, const std::vector<Segment>& each) {
  Case out = case_of(gas, level, kernel);
  out.work.add("cell_steps", gas.domain.columns * gas.domain.rows * steps).add("steps", steps);
  for (const auto& one : each) {
    out.seconds.push_back(one.seconds);
    out.spans.push_back(one.span);
  }
  out.begin_ns = out.spans.front().begin_ns;
  out.end_ns = out.spans.back().end_ns;
  return out;
}

std::vector<double> each_of(const std::vector<Segment>& segments, double Segment::*figure) {
  std::vector<double> found;
  found.reserve(segments.size());
  for (const auto& one : segments) found.push_back(one.*figure);
  return found;
}

/// A case for each pair: its ratio is its own, and their spread is that of the figure.
void emit_pairs(const Gas& gas, int level, const Costs& costs) {
  for (std::size_t i = 0; i < costs.with.size(); ++i) {
    const Segment& with = costs.with[i];
    const double added_s = with.seconds - costs.without[i].seconds;
    const double draining_s = std::min(with.drain_s, with.seconds) - with.blocked_s;
    Case out = case_of(gas, level, "pair");
    out.work.add("overhead", added_s / costs.without[i].seconds).add("added_s", added_s);
    out.work.add("interval_s", costs.without[i].seconds).add("bytes", gas.state_bytes());
    if (draining_s > 0) out.work.add("slowdown", (added_s - with.blocked_s) / draining_s);
    gas.emitter.series(out, nullptr);
  }
}

void emit(const Gas& gas, int level, const Costs& costs, const Residual& gas_check) {
  Emitter& emitter = gas.emitter;
  emitter.series(case_of(gas, level, "without", costs.steps, costs.without), nullptr);
  emitter.series(case_of(gas, level, "with", costs.steps, costs.with), &gas_check);
  emit_pairs(gas, level, costs);
  emitter.series(case_of(gas, level, "blocked", each_of(costs.with, &Segment::blocked_s)), nullptr);
  emitter.series(case_of(gas, level, "drain", each_of(costs.with, &Segment::drain_s)), nullptr);
  const Residual same{static_cast<double>(costs.wrong), 0,
                      "restarts whose state is not that which was saved, by its digest"};
  Case restart = case_of(gas, level, "restart", costs.restart_s);
  restart.work.add("restored_level", costs.restored_level);
  emitter.series(restart, &same);
  Case memory = case_of(gas, level, "memory");
  memory.work.add("resident_bytes", costs.resident_bytes).add("bytes", gas.state_bytes());
  memory.work.add("resident_over_state",
                  static_cast<double>(costs.resident_bytes) / static_cast<double>(gas.state_bytes()));
  emitter.series(memory, nullptr);
}

/// True where the level was measured; a level that failed is a notice.
bool attempt(Gas& gas, int level, const Totals& before) {
  try {
    const Costs costs = measure_level(gas, level);
    const Residual check = {deviations(gas.solver, gas.options.problem, before).worst(), 1,
                            "largest deviation over its bound"};
    emit(gas, level, costs, check);
    return true;
  } catch (const Error& error) {
    gas.emitter.notice("level-failed", std::string("level ") + std::to_string(level) + ": " + error.what(),
                       "the other levels are measured");
    return false;
  }
}

}  // namespace

void measure_costs(const Place& place, const Options& options, Emitter& emitter, std::int64_t n, double done,
                   double share) {
  const std::string label = std::to_string(n) + " x " + std::to_string(n) + ", " + word(options.problem);
  Domain domain;
  together(place.all, [&] { domain = divide(place.all, n, n, options.rank_columns); });
  require_room(place, domain, n, 4);
  CostFolders folders(place, options.cost);
  const bool several = std::any_of(options.cost.levels.begin(), options.cost.levels.end(),
                                   [](auto level) { return level == 2 || level == 3; });
  if (several && folders.nodes() < 2) {
    throw usage("levels 2 and 3 need two nodes, and there is one", "more ranks, or --levels 1,4");
  }
  std::unique_ptr<Solver> solver;
  together(place.all, [&] { solver = std::make_unique<Solver>(place.team, place.isa, domain, options.problem); });
  const Totals before = solver->totals();
  Gas gas{place, options, emitter, domain, *solver, folders};
  folders.require_room(options.cost.levels, static_cast<std::uint64_t>(gas.state_bytes()));
  timed(place, *solver, 2);
  constexpr std::int64_t kTimed = 4;
  gas.step_s = std::max(timed(place, *solver, kTimed) / static_cast<double>(kTimed), 1e-9);
  std::size_t measured = 0, tried = 0;
  for (const auto level : options.cost.levels) {
    const PhaseMark phase(emitter, "measure", label + ", level " + std::to_string(level));
    if (attempt(gas, static_cast<int>(level), before)) ++measured;
    folders.clear();
    ++tried;
    emitter.progress(done + share * static_cast<double>(tried) / static_cast<double>(options.cost.levels.size()),
                     label);
  }
  Object found;
  found.add("steps", solver->progress().step).add("digest", hexadecimal(solver->digest()));
  found.add("nodes_are", folders.emulated() ? "folders of one host, one of each rank" : "hosts");
  emitter.facts(Object().add("gas of " + label, found));
  if (measured == 0) throw cannot("no level could be measured", "the notices say why");
}

}  // namespace shakedown::hydro
