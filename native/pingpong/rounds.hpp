// Which pairs are measured when, and which CPU each rank takes: pure, without MPI.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/affinity.hpp"

namespace shakedown::pingpong {

using Pair = std::pair<int, int>;  // the first leads: it keeps the time, and sends where messages go one way
using Round = std::vector<Pair>;   // measured at the same time; disjoint

/// The rounds that measure the pairs ("first": ranks 0 and 1; "all"; or a list such as 0-1,0-3): one pair a round, or
/// as a tournament, disjoint pairs at a time (for "all", every rank meets every other in ranks-1 rounds, or in as many
/// as there are ranks when that is odd). Throws a usage error.
std::vector<Round> plan_rounds(int ranks, const std::string& pairs, bool tournament);

/// What a tournament over some of the ranks is to be.
struct Tournament {
  std::vector<int> players;  // the ranks that take part, in ascending order
  int passes = 1;            // the first in the order of ranks; the others shuffled, so that other pairs run beside
  int most_rounds = 0;       // of each pass; 0: all
  std::vector<Pair> skip;    // pairs that are left out, the lower rank first
};

/// The rounds of all passes, one after another. Deterministic.
std::vector<Round> plan_tournament(const Tournament& wanted);

/// A list such as 0-1,0-3 as pairs of ranks, the lower first. `what` is the argument's name. Throws a usage error.
std::vector<Pair> parse_pairs(int ranks, const std::string& text, const std::string& what);

/// The lowest rank of each host.
std::vector<int> first_of_each(const std::vector<std::string>& hosts);

/// Each pair with its other end as the leader.
Round reversed(const Round& round);

/// The CPU of each rank of one host. `allowed` holds for each its usable CPUs in order of preference; `list` (may be
/// empty) gives rank i its i-th. Each takes, of its CPUs, the first that the fewest lower ranks took.
std::vector<int> place_ranks(const std::vector<std::vector<int>>& allowed, const std::vector<int>& list);

}  // namespace shakedown::pingpong
