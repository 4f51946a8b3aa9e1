// Which CPUs the threads take and on which NUMA node the arrays lie, for each word of --placement.
#pragma once

#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "common/memory.hpp"

namespace shakedown::stream {

struct Layout {
  std::vector<int> cpus;  // of the threads, in order
  Placement memory;
};

/// The nodes' distances from one node, in the order of /sys/devices/system/node/online; empty where not told.
inline std::vector<int> node_distances(int node, const std::string& root = "") {
  std::istringstream words(read_line(root + "/sys/devices/system/node/node" + std::to_string(node) + "/distance"));
  std::vector<int> distances;
  for (int distance = 0; words >> distance;) distances.push_back(distance);
  return distances;
}

/// The other node with memory that is farthest from `node`. Throws "could not measure" where there is none.
inline int farthest_node(int node, const std::string& root = "") {
  const auto online = parse_cpu_list(read_line(root + "/sys/devices/system/node/online"));
  const auto distances = node_distances(node, root);
  int farthest = -1, most = -1;
  for (const int other : memory_nodes(root)) {
    if (other == node) continue;
    const auto at = static_cast<std::size_t>(std::find(online.begin(), online.end(), other) - online.begin());
    const int distance = at < distances.size() ? distances[at] : 0;
    if (distance > most) {
      most = distance;
      farthest = other;
    }
  }
  if (farthest < 0) {
    throw cannot("remote memory cannot be measured: this machine has one NUMA node with memory (" +
                     format_cpu_list(memory_nodes(root)) + ")",
                 "use --placement local");
  }
  return farthest;
}

/// The CPUs in their order, those of `node` first, or (`only`) those of the node alone.
inline std::vector<int> cpus_near(const std::vector<CpuPlace>& places, int node, bool only) {
  std::vector<int> near, other;
  for (const int cpu : spread_order(places)) {
    const auto at = std::find_if(places.begin(), places.end(), [&](const auto& place) { return place.cpu == cpu; });
    (at->node == node ? near : other).push_back(cpu);
  }
  if (!only) near.insert(near.end(), other.begin(), other.end());
  return near;
}

inline std::vector<int> first_of(std::vector<int> cpus, int threads, const std::string& what) {
  if (static_cast<std::size_t>(threads) > cpus.size()) {
    throw usage(std::to_string(threads) + " threads requested, but " + what + " has " + std::to_string(cpus.size()) +
                    " usable CPUs",
                "ask for fewer threads");
  }
  cpus.resize(static_cast<std::size_t>(threads));
  return cpus;
}

/// Resolve --placement, --cpus and a number of threads. Throws a usage error for what makes no sense, "could not
/// measure" for a machine without what is asked.
inline Layout resolve_layout(const std::string& word, int threads, const std::string& cpu_list,
                             const std::string& root = "") {
  using Kind = Placement::Kind;
  if (word == "local") return {choose_cpus(threads, cpu_list), {}};
  if (word == "interleave") return {choose_cpus(threads, cpu_list), {Kind::interleave, memory_nodes(root)}};
  const auto places = cpu_places(allowed_cpus(), root);
  if (word == "remote") {
    const int first = cpu_list.empty() ? spread_order(places).front() : choose_cpus(threads, cpu_list).front();
    const int home = cpu_places({first}, root).front().node;
    const int away = farthest_node(home, root);
    if (!cpu_list.empty()) return {choose_cpus(threads, cpu_list), {Kind::bind, {away}}};
    const auto cpus = first_of(cpus_near(places, home, true), threads, "NUMA node " + std::to_string(home));
    return {cpus, {Kind::bind, {away}}};
  }
  int node = -1;
  if (word.starts_with("node:")) {
    const char* const end = word.data() + word.size();
    if (const auto read = std::from_chars(word.data() + 5, end, node); read.ec != std::errc{} || read.ptr != end)
      node = -1;
  }
  if (node < 0) throw usage("unknown placement '" + word + "'", "known: local, interleave, remote, node:K");
  const auto nodes = memory_nodes(root);
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
    throw cannot("there is no NUMA node " + std::to_string(node) + " with memory", "nodes: " + format_cpu_list(nodes));
  }
  if (!cpu_list.empty()) return {choose_cpus(threads, cpu_list), {Kind::bind, {node}}};
  return {first_of(cpus_near(places, node, false), threads, "this process"), {Kind::bind, {node}}};
}

}  // namespace shakedown::stream
