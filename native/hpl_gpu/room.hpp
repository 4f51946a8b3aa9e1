// Whether a run fits the devices' and the hosts' memory, and the largest that does.
#pragma once

#include <functional>

#include "gpu/gpu.hpp"
#include "hpl/world.hpp"
#include "measure.hpp"

namespace shakedown::hpl_gpu {

/// What a run takes of a device, and of its host's pinned memory.
struct Bytes {
  double device = 0, pinned = 0;
};

/// What runs of a program take.
struct Demand {
  std::size_t entry_bytes = 0;                      // of the matrix
  std::function<Bytes(const hpl::Config&)> stored;  // by the rank that has most
  /// Of the rank that has most. Where there are more panels than anybody counts the matrix alone is told.
  [[nodiscard]] Bytes of(const hpl::Config& config) const;
};

/// Throw "could not measure", on every rank of the world alike, where the run does not fit a device or a host's memory.
void require_room(const hpl::World& world, gpu::Device& device, const hpl::Config& config, const Demand& demand);

/// What the search for N knows of a program.
struct Sizing {
  hpl::Config config;  // its N and NB are tried
  Index unit = 1;      // N is a multiple of it
  Demand demand;
  /// Asked where time is limited, on the ranks of the grid.
  std::function<Ceiling(const hpl::Config&, const hpl::Grid&)> ceiling;
  // A solution takes as long as its operations at the ceiling's rate, times overall + panels * unit * max(P, Q) / N.
  double overall = 1, panels = 0;
};

/// The largest N that the options allow, on every rank alike. Every rank of the world calls it.
Index largest_n(const hpl::Options& options, const hpl::World& world, gpu::Device& device, const Sizing& sizing);

}  // namespace shakedown::hpl_gpu
