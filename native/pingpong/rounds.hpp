// Which pairs are measured when, and which CPU each rank takes: pure, without MPI.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/affinity.hpp"

namespace shakedown::pingpong {

using Pair = std::pair<int, int>;  // the lower rank leads: it keeps the time
using Round = std::vector<Pair>;   // measured at the same time; disjoint

/// The rounds that measure the pairs ("first": ranks 0 and 1; "all"; or a list such as 0-1,0-3): one pair a round, or
/// as a tournament, disjoint pairs at a time (for "all", every rank meets every other in ranks-1 rounds, or in as many
/// as there are ranks when that is odd). Throws a usage error.
std::vector<Round> plan_rounds(int ranks, const std::string& pairs, bool tournament);

/// The CPU of each rank of one host. `allowed` holds for each its usable CPUs in order of preference; `list` (may be
/// empty) gives rank i its i-th. Each takes, of its CPUs, the first that the fewest lower ranks took.
std::vector<int> place_ranks(const std::vector<std::vector<int>>& allowed, const std::vector<int>& list);

}  // namespace shakedown::pingpong
