#include "deal.hpp"

#include <algorithm>
#include <set>

#include "affinity.hpp"

namespace shakedown {
namespace {

int cores_of(const std::vector<int>& cpus) {
  std::set<int> cores;
  for (const auto& place : cpu_places(cpus)) cores.insert(place.core);
  return static_cast<int>(cores.size());
}

/// Whether no CPU stands in two masks.
bool apart(const std::vector<std::vector<int>>& masks) {
  std::set<int> seen;
  for (const auto& mask : masks) {
    for (const int cpu : mask) {
      if (!seen.insert(cpu).second) return false;
    }
  }
  return true;
}

bool same(const std::vector<std::vector<int>>& masks) {
  return std::all_of(masks.begin(), masks.end(), [&](const auto& mask) { return mask == masks.front(); });
}

/// `count` CPUs from `from` on, round again where they do not suffice.
std::vector<int> take(const std::vector<int>& cpus, std::size_t from, int count) {
  std::vector<int> taken(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = cpus[(from + i) % cpus.size()];
  return taken;
}

}  // namespace

std::vector<std::vector<int>> deal(const std::vector<std::vector<int>>& masks, const std::vector<int>& list,
                                   int threads, bool progress_thread, bool oversubscribe) {
  const std::size_t ranks = masks.size();
  const bool shared = !list.empty() || (ranks > 1 && same(masks));
  if (!shared && !apart(masks) && !oversubscribe) {
    throw cannot("the launcher bound ranks of one host to CPUs that overlap in part",
                 "bind them apart or not at all: mpirun --bind-to none, srun --cpu-bind=none");
  }
  std::vector<std::vector<int>> dealt;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto& cpus = list.empty() ? masks[r] : list;
    const std::size_t sharers = shared ? ranks : 1;
    const int count = threads > 0 ? threads : std::max(1, cores_of(cpus) / static_cast<int>(sharers));
    const std::size_t wanted = sharers * static_cast<std::size_t>(count);
    if (wanted > cpus.size() && !oversubscribe) {
      throw cannot(std::to_string(sharers) + " rank" + (sharers > 1 ? "s" : "") + " of " + std::to_string(count) +
                       " thread" + (count > 1 ? "s" : "") + " on a host have only the CPUs " + format_cpu_list(cpus),
                   "start fewer ranks, ask for fewer --threads, or bind the ranks to more CPUs");
    }
    auto mine = take(cpus, shared ? r * static_cast<std::size_t>(count) : 0, count);
    if (progress_thread) {  // a CPU that nobody computes on, or the one where the panel's leader runs
      const std::size_t spare = wanted + (shared ? r : 0);
      mine.insert(mine.begin(), spare < cpus.size() ? cpus[spare] : mine.front());
    }
    dealt.push_back(std::move(mine));
  }
  return dealt;
}

}  // namespace shakedown
