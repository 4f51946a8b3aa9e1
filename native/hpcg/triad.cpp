#include "triad.hpp"

#include <algorithm>

#include "common/job.hpp"
#include "common/level.hpp"
#include "stream/measure.hpp"

namespace shakedown::hpcg {
namespace {

constexpr std::int64_t kLeastBytes = std::int64_t{64} << 20, kMostBytes = std::int64_t{1} << 30;

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

struct Bandwidth::Parts {
  stream::Arrays arrays;
  stream::Runner runner;
  const stream::LoopChoice* loop = nullptr;
  Parts(Team& team, std::int64_t bytes)
      : arrays(static_cast<std::size_t>(bytes / 8), team.size(), stream::ArrayOptions{}), runner(team, arrays) {
    arrays.fill(team);
  }
};

Bandwidth::Bandwidth(const Place& place, const Options& options, stream::Kernel kernel)
    : place_(place), kernel_(kernel), array_bytes_(chosen_bytes(place, options)) {
  const auto& loops = loops_of(place.isa.name);
  together(place.all, [&] {
    require_memory(static_cast<std::uint64_t>(3 * array_bytes_ * place.host_size), "the arrays of the triad");
    parts_ = std::make_unique<Parts>(place.team, array_bytes_);
  });
  const auto index = static_cast<std::size_t>(kernel);
  const auto list = loops.non_temporal[index].count > 0 ? loops.non_temporal[index] : loops.cached[index];
  parts_->loop = stream::fastest_loop(parts_->runner, parts_->arrays, kernel, list);
  parts_->arrays.poison(place.team, kernel);
  parts_->runner.clear_errors();
  std::int64_t mine = array_bytes_ / 8 * stream::facts_of(kernel).counted_bytes;
  MPI_Allreduce(&mine, &bytes_, 1, MPI_INT64_T, MPI_SUM, place.all);
}

Bandwidth::~Bandwidth() = default;

double Bandwidth::sample() {
  MPI_Barrier(place_.all);
  const double mine = parts_->runner.pass(kernel_, parts_->loop->loop, 1);
  double longest = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, place_.all);
  return longest;
}

bool Bandwidth::exact() {
  const double error = stream::worse(parts_->arrays.check(place_.team, kernel_), parts_->runner.sum_error());
  const int right = error <= stream::kLimit ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, place_.all);
  return all == 1;
}

}  // namespace shakedown::hpcg
