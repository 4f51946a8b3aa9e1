// Where every rank of a job is.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "caches.hpp"
#include "rank_places.hpp"
#include "ranks.hpp"

namespace shakedown {

/// Hosts by number, sockets and caches by their lowest CPU's. Every rank calls it, after join_ranks().
inline std::vector<RankPlace> gather_places(const Ranks& ranks) {
  const int cpu = ranks.cpus[static_cast<std::size_t>(ranks.rank)];
  const auto levels = data_caches(cpu);
  const auto last = std::find_if(levels.rbegin(), levels.rend(), [](const auto& level) { return level.bytes > 0; });
  const bool told = last != levels.rend() && !last->shared_by.empty();
  const int cache = told ? *std::min_element(last->shared_by.begin(), last->shared_by.end()) : -1;
  std::map<std::string, int> numbers;
  std::vector<RankPlace> places;
  for (const auto& mine : gather_lists(ranks.control, {cpu_places({cpu}).front().socket, cache})) {
    const auto& host = ranks.hosts[places.size()];
    places.push_back({numbers.emplace(host, static_cast<int>(numbers.size())).first->second, mine[0], mine[1]});
  }
  return places;
}

}  // namespace shakedown
