#include "room.hpp"

#include <algorithm>
#include <cmath>

#include "common/memory.hpp"
#include "hpl/runs.hpp"

namespace shakedown::hpl_gpu {
namespace {

constexpr double kSpare = 1 << 28;  // bytes of a device that are left to MPI and the driver

hpl::Config trial(const Sizing& sizing, Index n) {
  hpl::Config one = sizing.config;
  one.n = n;
  one.nb = std::min(sizing.unit, n);
  return one;
}

Index least(Index n, MPI_Comm comm) {
  auto value = static_cast<std::int64_t>(n);
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MIN, comm);
  return value;
}

Index within_memory(const hpl::Options& options, const hpl::World& world, gpu::Device& device, const Sizing& sizing) {
  const double free = static_cast<double>(device.free_bytes()) - kSpare;
  const double room = std::max(0.0, free) * options.memory_share;
  const auto host_room = static_cast<double>(memory_room().bytes) * 0.8 / std::max(1, world.host_size);
  const auto fits = [&](Index units) {
    const Bytes bytes = sizing.demand.of(trial(sizing, units * sizing.unit));
    return bytes.device <= room && bytes.pinned <= host_room;
  };
  const auto entries = room / static_cast<double>(sizing.demand.entry_bytes) * sizing.config.p * sizing.config.q;
  Index low = 1, high = 2 + static_cast<Index>(std::sqrt(entries)) / sizing.unit;  // high does not fit
  while (high - low > 1) (fits((low + high) / 2) ? low : high) = (low + high) / 2;
  return least(low * sizing.unit, world.all);
}

/// Flop/s of all ranks in small products; 0: too small to tell.
double small_rate(const hpl::World& world, const Sizing& sizing, Index n) {
  const hpl::Config small = trial(sizing, n);
  hpl::Grid grid = make_grid(world, small);
  double rate = 0;
  if (grid.inside()) {
    const Ceiling ceiling = sizing.ceiling(small, grid);
    rate = reduced(ceiling.flop, MPI_SUM, grid.all) / *std::min_element(ceiling.seconds.begin(), ceiling.seconds.end());
  }
  free_grid(grid);
  MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, world.group);
  return rate;
}

}  // namespace

Bytes Demand::of(const hpl::Config& config) const {
  constexpr Index kPanels = Index{1} << 20;
  const auto n = static_cast<double>(config.n);
  if (config.n / config.nb > kPanels) return {n * n * static_cast<double>(entry_bytes) / config.p / config.q, 0};
  return stored(config);
}

void require_room(const hpl::World& world, gpu::Device& device, const hpl::Config& config, const Demand& demand) {
  const bool inside = world.group_rank < config.p * config.q;
  const Bytes needed = inside ? demand.of(config) : Bytes{};
  const double pinned = reduced(needed.pinned, MPI_SUM, world.host);
  const auto free = static_cast<double>(device.free_bytes());
  const std::string what = "N = " + std::to_string(config.n) + " with NB = " + std::to_string(config.nb);
  together(world.all, [&] {
    if (needed.device > free) {
      throw cannot(what + " needs " + show_bytes(static_cast<std::uint64_t>(std::min(needed.device, 1.8e19))) + " of " +
                       device.info().name + " on " + world.my_host() + ", and " +
                       show_bytes(static_cast<std::uint64_t>(free)) + " are free",
                   "--n auto takes what fits; nvidia-smi shows who holds memory");
    }
    if (world.host_rank == 0 && pinned > 0)
      require_memory(static_cast<std::uint64_t>(std::min(pinned, 1.8e19)),
                     what + ": pinned buffers of " + world.my_host());
  });
}

Index largest_n(const hpl::Options& options, const hpl::World& world, gpu::Device& device, const Sizing& sizing) {
  Index n = within_memory(options, world, device, sizing);
  if (options.time_limit_s <= 0) return n;
  // A small product gives the rate; the loss to panels and the rest falls as 1 / N.
  const Index wide = sizing.unit * std::max(sizing.config.p, sizing.config.q);
  const double rate = small_rate(world, sizing, std::min(n, 16 * wide));
  const auto seconds = [&](Index of) {
    return hpl::flop_count(of) / rate *
           (sizing.overall + sizing.panels * static_cast<double>(wide) / static_cast<double>(of));
  };
  while (rate > 0 && n > sizing.unit && seconds(n) > options.time_limit_s) n -= sizing.unit;
  return least(n, world.all);
}

}  // namespace shakedown::hpl_gpu
