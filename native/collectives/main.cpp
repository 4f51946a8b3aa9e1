// Collective operations: parse -> join -> point to point -> for every group, operation and size: measure, verify, emit.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "collectives.hpp"
#include "common/gathered_places.hpp"
#include "common/silence.hpp"

namespace shakedown::collectives {
namespace {

/// The ranks that cases are of, in ascending order, and what they have in common.
struct Members {
  std::vector<int> ranks;
  Nearness placement = Nearness::cache;
};

/// A case with what tells it from others, apart from its method.
struct Planned {
  Shape shape;
  const Members* members = nullptr;
  [[nodiscard]] int ranks() const { return static_cast<int>(members->ranks.size()); }
};

int hosts_of(const World& world, const std::vector<int>& members) {
  std::set<std::string> hosts;
  for (const int rank : members) hosts.insert(world.host_of(rank));
  return static_cast<int>(hosts.size());
}

Object params_of(const World& world, const Planned& planned) {
  Object params;
  params.add("ranks", planned.ranks()).add("nodes", hosts_of(world, planned.members->ranks)).add("mpi", mpi_name());
  if (planned.shape.operation != Operation::barrier) params.add("bytes", planned.shape.bytes);
  if (has_root(planned.shape.operation)) params.add("root", planned.shape.root);
  if (can_be_in_place(planned.shape.operation)) params.add("in_place", planned.shape.in_place);
  params.add("placement", name_of(planned.members->placement));
  if (world.oversubscribed) params.add("oversubscribed", true);
  return params;
}

std::string words_of(const Planned& planned) {
  std::string text = name_of(planned.shape.operation);
  if (planned.shape.operation != Operation::barrier) text += " of " + std::to_string(planned.shape.bytes) + " bytes";
  return text + " by " + std::to_string(planned.ranks()) + " ranks";
}

/// What one call moves out of a rank: the bytes that a rate is made of, where each rank sends as much.
std::uint64_t sent_bytes(const Planned& planned) {
  const auto others = static_cast<std::uint64_t>(planned.ranks() - 1);
  return is_of_blocks(planned.shape.operation) ? others * planned.shape.bytes : planned.shape.bytes;
}

void await_case(const World& world, const Options& options, const Planned& planned) {
  watch_case(world, options.silent_s > 0 ? options.silent_s + options.budget_s : 0,
             {"collectives", name_of(planned.shape.operation), params_of(world, planned).add("method", "library"),
              words_of(planned), kLookAtRanks, "did not begin " + words_of(planned) + ": the others wait for it"});
}

void emit_series(Emitter& emitter, const World& world, const Options& options, const Planned& planned,
                 const CaseResult& result, const Series& series) {
  Case one;
  one.kernel = name_of(planned.shape.operation);
  one.params = params_of(world, planned).add("method", series.method);
  one.seconds = series.seconds;
  if (planned.shape.operation != Operation::barrier) one.work.add("bytes", sent_bytes(planned));
  if (is_of_blocks(planned.shape.operation)) {
    one.work.add("bytes_of_all", static_cast<std::uint64_t>(planned.ranks()) * sent_bytes(planned));
  }
  one.work.add("late", series.late_seconds.size()).add("clock_error_s", result.clock_error_s);
  one.work.add("slack_s", result.slack_s);
  if (result.clock_true_error_s >= 0) one.work.add("clock_true_error_s", result.clock_true_error_s);
  if (series.osu_s > 0) one.work.add("osu_s", series.osu_s);
  if (series.seconds.empty() && series.wrong == 0) {
    emitter.notice("late-left-out",
                   words_of(planned) + ", " + series.method + ": no repetition that all ranks began in time",
                   "other programs hold the ranks up: measure on a quiet machine");
  }
  const bool is_barrier = planned.shape.operation == Operation::barrier;
  const Residual residual{static_cast<double>(series.wrong), 0,
                          is_barrier ? "repetitions that a rank left before all had entered" : "wrong words"};
  emitter.series(one, options.verify ? &residual : nullptr);
  if (series.wrong_rank >= 0) {
    const int wrong = planned.members->ranks[static_cast<std::size_t>(series.wrong_rank)];
    emitter.notice("wrong-word",
                   words_of(planned) + ", " + series.method + ": rank " + std::to_string(wrong) + " on " +
                       world.host_of(wrong) + " has a wrong word " + std::to_string(series.wrong_word) +
                       " of its result, the first of " + std::to_string(series.wrong),
                   "look at that rank's memory and network; run it again with another MPI");
  }
  if (series.late_seconds.empty()) return;
  Case late;
  late.kernel = "late";
  late.params = params_of(world, planned).add("operation", one.kernel).add("method", series.method);
  late.seconds = series.late_seconds;
  emitter.series(late, nullptr);
}

/// The groups that are asked for, each once: by number, and by what their ranks have in common.
std::vector<Members> members_of(Emitter& emitter, const World& world, const Options& options) {
  const auto places = gather_places(world);
  std::vector<Members> found;
  const auto add = [&](std::vector<int> ranks) {
    for (const auto& other : found) {
      if (other.ranks == ranks) return;
    }
    const Nearness placement = common_to(places, ranks);
    found.push_back({std::move(ranks), placement});
  };
  for (const Nearness placement : options.placements) {
    auto ranks = around_first(places, placement);
    if (ranks.size() > 1 && common_to(places, ranks) == placement) {
      add(std::move(ranks));
    } else {
      emitter.notice(
          "placement-left-out",
          std::string("no group of ranks around the first has this in common and no more: ") + name_of(placement),
          "start ranks where there are some, or name other --placements");
    }
  }
  for (const int wanted : options.groups) {
    std::vector<int> ranks(static_cast<std::size_t>(wanted == 0 ? world.size : wanted));
    std::iota(ranks.begin(), ranks.end(), 0);
    add(std::move(ranks));
  }
  return found;
}

std::vector<Planned> plan(const std::vector<Members>& groups, const Options& options) {
  std::vector<Planned> planned;
  for (const Members& group : groups) {
    const auto ranks = static_cast<int>(group.ranks.size());
    for (const Operation operation : options.operations) {
      for (const std::size_t bytes : options.sizes) {
        if (operation == Operation::barrier && bytes != options.sizes.front()) continue;
        for (const int root : options.roots) {
          if (!has_root(operation) && root != options.roots.front()) continue;
          const int chosen = has_root(operation) ? (root < 0 ? ranks - 1 : std::min(root, ranks - 1)) : 0;
          planned.push_back({{operation, operation == Operation::barrier ? 0 : bytes, chosen, false}, &group});
          if (options.in_place && can_be_in_place(operation)) {
            planned.push_back(planned.back());
            planned.back().shape.in_place = true;
          }
        }
      }
    }
  }
  return planned;
}

/// Why a case cannot be here; empty where it can. The same on every rank of a host, and agreed on by all.
std::string cannot_be(const World& world, const Planned& planned) {
  const auto words = static_cast<std::uint64_t>(planned.ranks()) * (planned.shape.bytes / sizeof(Word));
  if (is_of_blocks(planned.shape.operation) && words > std::numeric_limits<int>::max()) {
    return "its blocks are more words together than an MPI call counts (2^31 - 1)";
  }
  const auto& mine = world.hosts[static_cast<std::size_t>(world.rank)];
  const auto beside = static_cast<std::uint64_t>(std::count(world.hosts.begin(), world.hosts.end(), mine));
  std::string text;
  try {
    require_memory(beside * buffer_bytes(planned.shape, planned.ranks()), "the buffers of this host's ranks");
  } catch (const Error& error) {
    text = error.what();
  }
  for (const auto& one : gather_words(world.control, text.substr(0, text.find('\n')))) {
    if (!one.empty()) return one;
  }
  return "";
}

void measure_all(Emitter& emitter, const World& world, const Options& options) {
  int made = 0;
  Group group;
  const Members* joined = nullptr;
  std::optional<SharedClock> clock;
  const auto groups = members_of(emitter, world, options);
  const auto cases = plan(groups, options);
  for (const Planned& planned : cases) {
    if (const auto why = cannot_be(world, planned); !why.empty()) {
      emitter.notice("sizes-left-out", words_of(planned) + ": " + why, "name smaller sizes or fewer ranks");
      continue;
    }
    await_case(world, options, planned);
    if (joined != planned.members) {
      clock.reset();
      leave(group);
      joined = planned.members;
      const bool inside = std::binary_search(joined->ranks.begin(), joined->ranks.end(), world.rank);
      group = group_among(world, joined->ranks, inside ? 0 : -1);
      if (group.control != MPI_COMM_NULL) clock.emplace(group.control, options.inject == Inject::clock);
      if (clock) emitter.facts(Object().add("clocks", clock->clocks()));
    }
    if (group.control != MPI_COMM_NULL) {
      const auto result = measure(world, group, *clock, options, planned.shape);
      for (const auto& series : result.series) emit_series(emitter, world, options, planned, result, series);
    }
    rest(world);
    unwatch();
    emitter.progress(static_cast<double>(++made) / static_cast<double>(cases.size()), words_of(planned));
  }
  clock.reset();
  leave(group);
  if (made == 0)
    throw cannot("none of the sizes can be measured by these ranks", "name smaller --sizes or fewer ranks");
}

int run(int argc, char** argv, const Options& options) {
  const World world = join(options);
  Emitter emitter(world.rank == 0 ? stdout : nullptr);
  emitter.start("collectives", argc, argv, world.facts());
  if (world.oversubscribed) {
    emitter.notice("oversubscribed", "ranks share CPUs: the times are those of the scheduler and mean nothing",
                   "start at most one rank for each CPU");
  }
  emitter.phase("measure", "begin");
  if (options.point_to_point && options.rounds.empty()) {
    for (const auto& one : point_to_point(world, options)) emitter.series(one, nullptr);
  }
  if (options.rounds.empty()) {
    measure_all(emitter, world, options);
  } else {
    measure_rounds(emitter, world, options);
  }
  emitter.phase("measure", "end");
  emitter.end();
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, 0, world.control);
  return code;
}

}  // namespace
}  // namespace shakedown::collectives

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("collectives", argc, argv, collectives::read_options, collectives::run);
}
