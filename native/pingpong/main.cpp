// Messages between two MPI ranks: parse -> join -> for every round, kernel and size: measure, verify, emit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "pingpong.hpp"

namespace shakedown::pingpong {
namespace {

constexpr double kFirstWarmS = 0.02;  // wakes a core that slept and lets its clock rise
constexpr double kWarmS = 0.001;

/// A case's result travels from its leader to rank 0, which alone prints.
void send_series(MPI_Comm comm, const Series& series) {
  const std::int64_t head[] = {series.iterations, series.begin_ns, series.end_ns, series.wrong};
  MPI_Send(head, 4, MPI_INT64_T, 0, kTag, comm);
  MPI_Send(series.seconds.data(), static_cast<int>(series.seconds.size()), MPI_DOUBLE, 0, kTag, comm);
}

Series receive_series(MPI_Comm comm, int leader) {
  std::int64_t head[4] = {};
  MPI_Recv(head, 4, MPI_INT64_T, leader, kTag, comm, MPI_STATUS_IGNORE);
  Series series{head[0], head[1], head[2], head[3], {}};
  MPI_Status status;
  int count = 0;
  MPI_Probe(leader, kTag, comm, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  series.seconds.resize(static_cast<std::size_t>(count));
  MPI_Recv(series.seconds.data(), count, MPI_DOUBLE, leader, kTag, comm, MPI_STATUS_IGNORE);
  return series;
}

Case case_of(const World& world, const Options& options, const Shape& shape, const Pair& pair, const Series& series) {
  const auto& a = world.ranks[static_cast<std::size_t>(pair.first)];
  const auto& b = world.ranks[static_cast<std::size_t>(pair.second)];
  Case result;
  result.kernel = name_of(shape.kernel);
  result.params.add("bytes", shape.bytes).add("rank_a", pair.first).add("rank_b", pair.second);
  result.params.add("cpu_a", a.cpu).add("cpu_b", b.cpu).add("host_a", a.host).add("host_b", b.host);
  result.params.add("ranks", world.size).add("pattern", options.tournament ? "tournament" : "one");
  if (shape.kernel != Kernel::latency) result.params.add("window", options.window);
  result.work = work_of(shape, options, series.iterations);
  result.seconds = series.seconds;
  result.begin_ns = series.begin_ns;
  result.end_ns = series.end_ns;
  return result;
}

/// The case of a pair that did not answer: no sample, and a check that fails.
void watch_pair(const World& world, const Options& options, const Shape& shape, const Pair& pair) {
  Series none;
  none.begin_ns = none.end_ns = unix_ns();
  const Case dead = case_of(world, options, shape, pair, none);
  const auto& a = world.ranks[static_cast<std::size_t>(pair.first)].host;
  const auto& b = world.ranks[static_cast<std::size_t>(pair.second)].host;
  const double limit_s = options.silent_s + std::max(options.seconds, options.budget_s);
  const auto shown = std::to_string(std::lround(limit_s)) + " s";
  Object check;
  check.add("value", std::numeric_limits<double>::quiet_NaN()).add("limit", 0.0).add("kind", "no answer in " + shown);
  Object event;
  event.add("event", "case").add("kernel", dead.kernel).add("params", dead.params).add("work", dead.work);
  event.add("seconds", dead.seconds).add("residual", check).add("begin_ns", dead.begin_ns).add("end_ns", dead.end_ns);
  watch(options.silent_s > 0 ? limit_s : 0, to_json(event) + '\n',
        "pingpong: the pair of rank " + std::to_string(pair.first) + " on " + a + " and rank " +
            std::to_string(pair.second) + " on " + b + " did not answer in " + shown +
            "\n  next: look at that link; --skip " + std::to_string(std::min(pair.first, pair.second)) + "-" +
            std::to_string(std::max(pair.first, pair.second)) + " measures the others\n");
}

/// This rank's part in one case of a round: lead, follow, or rest until the others are done.
std::optional<Series> take_part(const World& world, const Options& options, const Buffers& buffers, const Round& round,
                                const Shape& shape, double warm_s) {
  for (const auto& [a, b] : round) {
    if (world.rank == a) {
      watch_pair(world, options, shape, {a, b});
      return lead(world, options, buffers, shape, b, warm_s);
    }
    if (world.rank == b) {
      follow(world, options, buffers, shape, a);
      return std::nullopt;
    }
  }
  MPI_Request others = MPI_REQUEST_NULL;
  MPI_Ibarrier(world.control, &others);
  rest(others);
  return std::nullopt;
}

void emit_round(Emitter& emitter, const World& world, const Options& options, const Round& round, const Shape& shape,
                const std::optional<Series>& mine) {
  if (world.rank != 0) {
    if (mine) send_series(world.control, *mine);
    return;
  }
  for (const auto& pair : round) {
    const Series series = pair.first == 0 ? *mine : receive_series(world.control, pair.first);
    const Residual residual{static_cast<double>(series.wrong), 0, "wrong bytes or messages"};
    emitter.series(case_of(world, options, shape, pair, series), options.verify ? &residual : nullptr);
  }
}

/// A round as it is, and for messages that go one way, where asked for, also the other way round.
std::vector<Round> ways(const Options& options, Kernel kernel, const Round& round) {
  if (!options.both_directions || kernel != Kernel::bandwidth) return {round};
  return {round, reversed(round)};
}

void measure_round(Emitter& emitter, const World& world, const Options& options, const Buffers& buffers,
                   const Round& round) {
  double warm_s = kFirstWarmS;
  for (const Kernel kernel : options.kernels) {
    for (const std::size_t bytes : options.sizes) {
      for (const Round& way : ways(options, kernel, round)) {
        const Shape shape{kernel, bytes};
        emit_round(emitter, world, options, way, shape, take_part(world, options, buffers, way, shape, warm_s));
        warm_s = kWarmS;
      }
    }
  }
}

/// Whether rank 0 finds that the time is over; all ranks learn it.
bool over(const World& world, const Options& options, double begin_s) {
  int late = options.limit_s > 0 && now_s() - begin_s > options.limit_s ? 1 : 0;
  if (options.limit_s > 0) MPI_Bcast(&late, 1, MPI_INT, 0, world.control);
  return late != 0;
}

void measure(Emitter& emitter, const World& world, const Options& options, const Buffers& buffers,
             const std::vector<Round>& rounds) {
  const double begin_s = now_s();
  for (std::size_t done = 0; done < rounds.size(); ++done) {
    if (done > 0 && over(world, options, begin_s)) {
      if (world.rank == 0) {
        emitter.notice("rounds-left-out",
                       std::to_string(rounds.size() - done) + " of " + std::to_string(rounds.size()) +
                           " rounds were not measured: the time of --limit-s was over",
                       "give more time, or fewer samples and sizes");
      }
      return;
    }
    measure_round(emitter, world, options, buffers, rounds[done]);
    if (world.rank == 0) {
      emitter.progress(static_cast<double>(done + 1) / static_cast<double>(rounds.size()),
                       "round " + std::to_string(done + 1) + " of " + std::to_string(rounds.size()));
    }
  }
}

std::vector<Round> rounds_of(const World& world, const Options& options) {
  std::vector<int> players(static_cast<std::size_t>(world.size));
  std::iota(players.begin(), players.end(), 0);
  if (options.between_hosts) {
    std::vector<std::string> hosts;
    for (const auto& rank : world.ranks) hosts.push_back(rank.host);
    players = first_of_each(hosts);
    if (players.size() < 2) {
      throw usage("--between hosts: all ranks are on " + hosts.front(), "start ranks on two hosts or more");
    }
  }
  if (options.pairs == "first") return {{{players[0], players[1]}}};
  if (options.pairs != "all") return plan_rounds(world.size, options.pairs, options.tournament);
  if (!options.tournament) {
    std::vector<Round> alone;
    for (const int a : players) {
      for (const int b : players) {
        if (a < b) alone.push_back({{a, b}});
      }
    }
    return alone;
  }
  Tournament wanted{.players = players, .passes = options.passes, .most_rounds = options.most_rounds, .skip = {}};
  if (!options.skip.empty()) wanted.skip = parse_pairs(world.size, options.skip, "--skip");
  auto rounds = plan_tournament(wanted);
  if (rounds.empty()) throw usage("--skip leaves no pair", "name fewer");
  return rounds;
}

int run(int argc, char** argv, const Options& options) {
  const World world = join(options);
  const auto rounds = rounds_of(world, options);
  Buffers buffers;
  together(world.control, [&] { buffers = Buffers(options); });
  Emitter emitter;
  if (world.rank == 0) {
    Object facts = world.facts();
    facts.add("window", options.window).add("pages", buffers.pages()).add("rounds", rounds.size());
    facts.add("between", options.between_hosts ? "hosts" : "ranks").add("passes", options.passes);
    emitter.start("pingpong", argc, argv, facts);
    emitter.phase("measure", "begin");
  }
  measure(emitter, world, options, buffers, rounds);
  if (world.rank == 0) {
    emitter.phase("measure", "end");
    emitter.end();
  }
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, 0, world.control);
  return code;
}

}  // namespace
}  // namespace shakedown::pingpong

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("pingpong", argc, argv, pingpong::read_options, pingpong::run);
}
