// One run of the sweep: repeat, check, lay beside the ceiling.
#pragma once

#include "common/emit.hpp"
#include "factor.hpp"
#include "gpu/watch.hpp"
#include "hpl/world.hpp"
#include "hpl_gpu/diagnosis.hpp"
#include "options.hpp"
#include "refine.hpp"

namespace shakedown::hpl_mxp {

/// What stays for all runs of a program.
struct Bench {
  const Options& options;
  const hpl::World& world;
  const Calls& calls;
  Emitter& emitter;
};

/// What a group of ranks found for one run. The group's first rank holds it.
struct Report {
  std::vector<double> seconds, factor_seconds;  // of each repeat, the largest over the ranks
  std::vector<double> steps;                    // of each repeat, of the refinement
  std::vector<double> residuals;                // scaled, of the first repeat: of the first solution, after each step
  bool converged = true;                        // every repeat
  double residual = 0;                          // of the check, the worst
  bool checked = false;
  hpl::Shares shares;  // of all ranks, seconds
  double panel_busy = 0;
  double ceiling_flop = 0;
  std::vector<double> ceiling_seconds;
  std::vector<TimeSpan> spans, ceiling_spans;  // of each repeat, of each sample of the ceiling
  double generate_seconds = 0;                 // of the first repeat, not a part of `seconds`
};

/// Ranks outside the grid return an empty report. Every rank of the group calls it. `conditions`: of this rank's device
/// during the first repeat.
Report run(const Bench& bench, const Setup& setup, gpu::Conditions& conditions);

/// The reports of all groups' first ranks, with the rank; on rank 0 of the world. Every rank calls it.
std::vector<std::pair<int, Report>> gather_reports(const hpl::World& world, const Report& mine);

/// Throw "could not measure", on every rank of the world alike, where the run does not fit a device or a host's memory.
void require_room(const Bench& bench, const Setup& setup);

/// The largest N that the options allow, on every rank alike.
Index choose_n(const Bench& bench, const Setup& setup);

/// Products of the same format with k = NB. Overwrites the matrix.
hpl_gpu::Ceiling measure_ceiling(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store,
                                 const Calls& calls, const gpu::Stream& stream);

/// Why a run was not faster: what its own measurements say, the costliest first.
std::vector<hpl::Diagnosis> diagnose(const Report& report, const Setup& setup, const std::string& staged_why);

}  // namespace shakedown::hpl_mxp
