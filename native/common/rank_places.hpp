// Where ranks are, and what some of them have in common: a cache, a socket, a host, or nothing. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace shakedown {

/// Where a rank is. Numbers are alike where things are the same one; a cache of -1 is not told.
struct RankPlace {
  int host = 0;
  int socket = 0;
  int cache = 0;  // the last-level cache of its core
};

/// What two ranks have in common, the most of it: one last-level cache; one socket, and another cache; one host, and
/// another socket; not even the host (hosts). halves is none of them: whatever comes, as osu_mbw_mr pairs.
enum class Nearness : std::uint8_t { halves, cache, socket, host, hosts };
const char* name_of(Nearness placement);

Nearness between(const RankPlace& a, const RankPlace& b);

/// The least that any two of some ranks have in common: that of all of them together.
Nearness common_to(const std::vector<RankPlace>& places, const std::vector<int>& members);

/// The ranks that have this much in common with rank 0, or more, in ascending order; rank 0 is one of them.
std::vector<int> around_first(const std::vector<RankPlace>& places, Nearness placement);

}  // namespace shakedown
