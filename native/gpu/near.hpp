// Which CPUs of this host are near a device.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "gpu.hpp"

namespace shakedown::gpu {

/// The NUMA node of a device by its PCI address; -1 where the system does not say. `root` is "" but in tests.
inline int numa_node(const std::string& pci, const std::string& root = "") {
  std::string address = pci;
  std::transform(address.begin(), address.end(), address.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (address.size() > 12) address.erase(0, address.size() - 12);  // 00000000:9B:00.0 is 0000:9b:00.0 in /sys
  int node = -1;
  std::ifstream(root + "/sys/bus/pci/devices/" + address + "/numa_node") >> node;
  return node;
}

/// Of `cpus` those on the device's NUMA node; empty where the node is not known or none of them is there.
inline std::vector<int> near_cpus(const Info& info, const std::vector<int>& cpus) {
  const int node = numa_node(info.pci);
  std::vector<int> near;
  for (const auto& place : cpu_places(cpus)) {
    if (place.node == node) near.push_back(place.cpu);
  }
  return near;
}

}  // namespace shakedown::gpu
