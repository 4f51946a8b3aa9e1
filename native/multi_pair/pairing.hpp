// Which ranks send to which: pairs by where their ends are, and rings. Pure.
#pragma once

#include <utility>
#include <vector>

#include "common/rank_places.hpp"

namespace shakedown::multi_pair {

using Placement = Nearness;        // of the two ends
using Pair = std::pair<int, int>;  // who sends, who receives

/// Disjoint pairs of a placement, in the order of ranks: at most `most` of them, or of 0 as many as there are. With
/// `halves` exactly `most` or none.
std::vector<Pair> pair_up(const std::vector<RankPlace>& places, Placement placement, int most);

/// Ranks in a ring, in their order (number 0) or shuffled: the same order for the same number.
std::vector<int> ring_order(int ranks, int number);

/// Who sits beside a rank in a ring.
struct Neighbours {
  int left = 0;
  int right = 0;
};
Neighbours neighbours(const std::vector<int>& order, int rank);

}  // namespace shakedown::multi_pair
