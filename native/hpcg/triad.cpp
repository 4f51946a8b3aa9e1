#include "triad.hpp"

#include <algorithm>

#include "common/job.hpp"
#include "common/level.hpp"
#include "stream/measure.hpp"

namespace shakedown::hpcg {
namespace {

constexpr std::int64_t kLeastBytes = std::int64_t{64} << 20, kMostBytes = std::int64_t{1} << 30;
constexpr int kTriadSamples = 20;

const stream::IsaLoops& loops_of(const std::string& name) {
  const auto built = stream::isas_built();
  for (std::size_t i = 0; i < built.count; ++i) {
    if (name == built.first[i]->name) return *built.first[i];
  }
  throw cannot("no triad for " + name + " was built in");
}

std::int64_t chosen_bytes(const Place& place, const Options& options) {
  if (options.triad_bytes > 0) return round_up(options.triad_bytes, 64);
  std::vector<int> cpus;
  for (const auto& bound : place.team.binding()) cpus.insert(cpus.end(), bound.begin(), bound.end());
  const auto room = cache_room(cpus);
  const auto last = static_cast<std::int64_t>(*std::max_element(room.begin(), room.end()));
  return std::clamp(round_up(4 * last / place.host_size, 64), kLeastBytes, kMostBytes);
}

}  // namespace

Triad measure_triad(const Place& place, const Options& options) {
  using stream::Kernel;
  Triad found;
  found.array_bytes = chosen_bytes(place, options);
  const auto& loops = loops_of(place.isa.name);
  std::optional<stream::Arrays> arrays;
  together(place.all, [&] {
    require_memory(static_cast<std::uint64_t>(3 * found.array_bytes * place.host_size), "the arrays of the triad");
    arrays.emplace(static_cast<std::size_t>(found.array_bytes / 8), place.team.size(), stream::ArrayOptions{});
  });
  arrays->fill(place.team);
  stream::Runner runner(place.team, *arrays);
  const auto index = static_cast<std::size_t>(Kernel::triad);
  const auto list = loops.non_temporal[index].count > 0 ? loops.non_temporal[index] : loops.cached[index];
  const auto* const loop = stream::fastest_loop(runner, *arrays, Kernel::triad, list);
  arrays->poison(place.team, Kernel::triad);
  found.begin_ns = unix_ns();
  for (int k = 0; k < kTriadSamples; ++k) {
    MPI_Barrier(place.all);
    const double mine = runner.pass(Kernel::triad, loop->loop, 1);
    double longest = 0;
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, place.all);
    found.seconds.push_back(longest);
  }
  found.end_ns = unix_ns();
  const int right = arrays->check(place.team, Kernel::triad) <= stream::kLimit ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, place.all);
  found.exact = all == 1;
  std::int64_t bytes = found.array_bytes / 8 * stream::facts_of(Kernel::triad).counted_bytes;
  MPI_Allreduce(&bytes, &found.bytes, 1, MPI_INT64_T, MPI_SUM, place.all);
  return found;
}

}  // namespace shakedown::hpcg
