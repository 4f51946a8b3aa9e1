#include "arrange.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace shakedown::placement {
namespace {

std::vector<int> taken(const std::vector<int>& order, int local_rank, int threads) {
  std::vector<int> cpus;
  const auto count = static_cast<std::size_t>(threads);
  cpus.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    cpus.push_back(order[(static_cast<std::size_t>(local_rank) * count + i) % order.size()]);
  }
  return cpus;
}

}  // namespace

std::vector<int> arranged_cpus(const std::string& word, int local_rank, int threads,
                               const std::vector<CpuPlace>& places) {
  if (word == "compact") return taken(compact_order(places), local_rank, threads);
  if (word == "spread") return taken(spread_order(places), local_rank, threads);
  std::map<int, std::vector<int>> nodes;
  std::vector<int> all;
  for (const auto& place : places) {
    nodes[place.node].push_back(place.cpu);
    all.push_back(place.cpu);
  }
  if (word == "unbound") return all;
  if (word != "one-node") throw usage("--arrange '" + word + "'", "compact, spread, one-node or unbound");
  const auto larger = [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); };
  return std::max_element(nodes.begin(), nodes.end(), larger)->second;
}

std::vector<int> reachable_cpus() {
  std::vector<int> before = allowed_cpus();
  std::vector<int> every(CpuMask::bytes() * 8);
  std::iota(every.begin(), every.end(), 0);
  const CpuMask all(every);
  if (sched_setaffinity(0, CpuMask::bytes(), all.set()) != 0) return before;
  std::vector<int> reached = allowed_cpus();
  bind_thread(before);
  return reached;
}

}  // namespace shakedown::placement
