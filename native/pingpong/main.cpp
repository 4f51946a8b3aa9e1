// Messages between two MPI ranks: parse -> join -> for every round, kernel and size: measure, verify, emit.
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

/// This rank's part in one case of a round: lead, follow, or rest until the others are done.
std::optional<Series> take_part(const World& world, const Options& options, const Buffers& buffers, const Round& round,
                                const Shape& shape, double warm_s) {
  for (const auto& [a, b] : round) {
    if (world.rank == a) return lead(world, options, buffers, shape, b, warm_s);
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

void measure(Emitter& emitter, const World& world, const Options& options, const Buffers& buffers,
             const std::vector<Round>& rounds) {
  const double all = static_cast<double>(rounds.size() * options.kernels.size() * options.sizes.size());
  double done = 0;
  for (const auto& round : rounds) {
    double warm_s = kFirstWarmS;
    for (const Kernel kernel : options.kernels) {
      for (const std::size_t bytes : options.sizes) {
        const Shape shape{kernel, bytes};
        emit_round(emitter, world, options, round, shape, take_part(world, options, buffers, round, shape, warm_s));
        warm_s = kWarmS;
        ++done;
        if (world.rank == 0) emitter.progress(done / all, name_of(kernel));
      }
    }
  }
}

int run(int argc, char** argv, const Options& options) {
  const World world = join(options);
  const auto rounds = plan_rounds(world.size, options.pairs, options.tournament);
  Buffers buffers;
  together(world.control, [&] { buffers = Buffers(options); });
  Emitter emitter;
  if (world.rank == 0) {
    Object facts = world.facts();
    facts.add("window", options.window).add("pages", buffers.pages()).add("rounds", rounds.size());
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
  using namespace shakedown::pingpong;
  Options options;
  return mpi_main(
      "pingpong", argc, argv, MPI_THREAD_SINGLE, [&] { options = read_options(argc, argv); },
      [&] { return run(argc, argv, options); });
}
