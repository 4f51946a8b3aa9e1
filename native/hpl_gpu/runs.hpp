// One run of the sweep: repeat, check, lay beside the ceiling.
#pragma once

#include "common/emit.hpp"
#include "diagnosis.hpp"
#include "factor.hpp"
#include "gpu/watch.hpp"
#include "hpl/runs.hpp"
#include "hpl/world.hpp"
#include "options.hpp"
#include "room.hpp"

namespace shakedown::hpl_gpu {

/// What stays for all runs of a program.
struct Bench {
  const Options& options;
  const hpl::World& world;
  const Calls& calls;
  Emitter& emitter;
};

/// What a rank found for one run: hpl's report, and what only devices have.
struct Report {
  hpl::Report hpl;             // the group's first rank has it
  double panel_busy = 0;       // of all ranks, seconds
  gpu::Conditions conditions;  // of this rank's device during the first repeat
};

/// Ranks outside the grid return an empty report. Every rank of the group calls it.
Report run(const Bench& bench, const Setup& setup);

/// Throw "could not measure", on every rank of the world alike, where the run does not fit a device or a host's memory.
void require_room(const Bench& bench, const Setup& setup);

/// The largest N that the options allow, on every rank alike.
Index choose_n(const Bench& bench, const Setup& setup);

/// The DGEMM with k = NB. Overwrites the matrix.
Ceiling measure_ceiling(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                        const gpu::Stream& stream);

/// Why a run was not faster: what its own measurements say, the costliest first.
std::vector<hpl::Diagnosis> diagnose(const hpl::Report& report, const Setup& setup, const std::string& staged_why);

}  // namespace shakedown::hpl_gpu
