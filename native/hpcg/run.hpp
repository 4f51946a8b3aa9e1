// A run by the rules: set up, the reference, the optimisation, the tests, the sets that are timed.
#pragma once

#include "common/emit.hpp"
#include "common/rank_teams.hpp"
#include "options.hpp"

namespace shakedown::hpcg {

/// The ranks of a job, and what this one computes with.
struct Place : HostRanks {
  Team& team;
  const Isa& isa;
};

/// Bytes that a rank of so many points needs in all, the plain matrix of the reference and our own beside each other.
double needed_bytes(const Triple& n);

/// Rank 0 tells of it; collective. Throws "could not measure" on all ranks alike where there is no memory.
void measure(const Place& place, const Options& options, Emitter& emitter);

}  // namespace shakedown::hpcg
