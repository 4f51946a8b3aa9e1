// The data caches of a CPU, as /sys tells of them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

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
inline std::array<CacheLevel, 3> data_caches(int cpu, const std::string& root = "") {
  std::array<CacheLevel, 3> levels;
  for (int index = 0; index < 16; ++index) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
    const std::string kind = read_line(folder + "type");
    const std::string level_word = read_line(folder + "level");
    if (kind.empty()) break;
    if (kind == "Instruction" || level_word.size() != 1 || level_word[0] < '1' || level_word[0] > '3') continue;
    const std::string size = read_line(folder + "size");  // "48K"
    char* unit = nullptr;
    std::uint64_t bytes = std::strtoull(size.c_str(), &unit, 10);
    if (*unit == 'K') bytes <<= 10;
    if (*unit == 'M') bytes <<= 20;
    auto& level = levels[static_cast<std::size_t>(level_word[0] - '1')];
    level.bytes = bytes;
    try {
      level.shared_by = parse_cpu_list(read_line(folder + "shared_cpu_list"));
    } catch (const Error&) {  // not told
    }
    if (level.shared_by.empty()) level.shared_by = {cpu};
  }
  return levels;
}

}  // namespace shakedown
