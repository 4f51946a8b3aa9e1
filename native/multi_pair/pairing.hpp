// Which ranks send to which: pairs by where their ends are, and rings. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shakedown::multi_pair {

/// Where a rank is. Numbers are alike where things are the same one; a cache of -1 is not told.
struct RankPlace {
  int host = 0;
  int socket = 0;
  int cache = 0;  // the last-level cache of its core
};

/// What the ends of a pair have in common. halves: whatever comes, as osu_mbw_mr pairs: of k pairs rank i sends to rank
/// i + k. cache: one last-level cache. socket: one socket, and another cache. host: one host, and another socket.
/// hosts: not even the host.
enum class Placement : std::uint8_t { halves, cache, socket, host, hosts };
const char* name_of(Placement placement);

/// What two ranks have in common, the most of it.
Placement between(const RankPlace& a, const RankPlace& b);

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
