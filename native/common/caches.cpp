#include "caches.hpp"

#include <cstdlib>

#include "affinity.hpp"

namespace shakedown {

std::array<CacheLevel, 3> data_caches(int cpu, const std::string& root) {
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
