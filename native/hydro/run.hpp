// One grid from its start to its verdict.
#pragma once

#include <string>

#include "common/emit.hpp"
#include "common/rank_teams.hpp"
#include "options.hpp"
#include "solver.hpp"

namespace shakedown::hydro {

/// The ranks of a job, and what this one computes with.
struct Place : HostRanks {
  Team& team;
  const Isa& isa;
};

/// What rank 0 found, on all ranks.
std::int64_t agreed(const Place& place, std::int64_t mine);
/// The time of so many steps, from when all ranks are ready until all are done.
double timed(const Place& place, Solver& solver, std::int64_t steps);
/// Throws on all ranks alike where a host has no memory for its cells, so many times.
void require_room(const Place& place, const Domain& domain, std::int64_t n, int times);
/// As digests are shown.
std::string hexadecimal(std::uint64_t number);

/// Measure n x n cells and check what came out. Rank 0 tells of it; collective. `done` and `share` are of the whole
/// run: what is behind, and what this is. Throws "could not measure" on all ranks alike where there is no memory.
void measure(const Place& place, const Options& options, Emitter& emitter, std::int64_t n, double done, double share);

}  // namespace shakedown::hydro
