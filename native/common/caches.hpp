// The data caches of a CPU, as /sys tells of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "affinity.hpp"

namespace shakedown {

/// One level: the bytes of one instance, and how many logical CPUs share it. bytes is 0 where the level does not exist
/// or is not told.
struct CacheLevel {
  std::uint64_t bytes = 0;
  std::vector<int> shared_by;
};

/// Levels 1 to 3 (index 0 to 2) of the data or unified caches of a CPU. A virtual machine may show those of the whole
/// physical host. `root` is "" but in tests.
std::array<CacheLevel, 3> data_caches(int cpu, const std::string& root = "");

}  // namespace shakedown
