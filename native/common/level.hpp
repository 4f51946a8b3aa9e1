// Which level of the memory system what a program touches lies in. native/stream/README.md explains the rule.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "caches.hpp"

namespace shakedown {

/// What the team's threads have of each cache level together, in bytes; 0 where a level does not exist or is unknown.
using CacheRoom = std::array<std::uint64_t, 3>;

/// From /sys: the sizes of the distinct caches that serve these CPUs.
inline CacheRoom cache_room(const std::vector<int>& cpus, const std::string& root = "") {
  CacheRoom room{};
  std::array<std::set<std::vector<int>>, 3> seen;
  for (const int cpu : cpus) {
    const auto levels = data_caches(cpu, root);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i].bytes > 0 && seen[i].insert(levels[i].shared_by).second) room[i] += levels[i].bytes;
    }
  }
  return room;
}

/// From what the user says: levels 1 and 2 belong to each thread, level 3 to all together.
inline CacheRoom cache_room(const std::vector<std::int64_t>& sizes, int threads) {
  CacheRoom room{};
  for (std::size_t i = 0; i < sizes.size() && i < room.size(); ++i) {
    room[i] = static_cast<std::uint64_t>(sizes[i]) * (i < 2 ? static_cast<std::uint64_t>(threads) : 1);
  }
  return room;
}

/// "l1", "l2", "l3" where `touched` bytes fill at most half of that level and at least twice the level below; "memory"
/// where they are at least twice the last level; empty in between, where the time is a mixture, and where no cache is
/// known.
inline std::string level_of(std::uint64_t touched, const CacheRoom& room) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room[i] == 0) continue;
    if (touched <= room[i] / 2) return touched >= 2 * below ? "l" + std::to_string(i + 1) : "";
    below = room[i];
  }
  return below > 0 && touched >= 2 * below ? "memory" : "";
}

/// Whether arrays of that size are evicted before they are used again, so that a store must first fetch its line.
inline bool exceeds_caches(std::uint64_t touched, const CacheRoom& room) {
  return touched > *std::max_element(room.begin(), room.end());
}

}  // namespace shakedown
