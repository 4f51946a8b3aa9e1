#include "interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace shakedown::checkpoint {

double Recent::median() const {
  const auto count = static_cast<std::ptrdiff_t>(std::min(count_, values_.size()));
  if (count == 0) return 0;
  auto sorted = values_;
  std::sort(sorted.begin(), sorted.begin() + count);
  const auto middle = static_cast<std::size_t>(count / 2);
  return count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Intervals best_intervals(const std::array<LevelCost, kLevels>& levels, double mtti_seconds) {
  Intervals result;
  double share = 0;    // of failures that no cheaper level covers
  double cheaper = 0;  // cost of the level below
  for (std::size_t level = 1; level < levels.size(); ++level) {
    share += kFailureShares[level];
    if (!levels[level].used) continue;
    const bool last = std::none_of(levels.begin() + static_cast<std::ptrdiff_t>(level) + 1, levels.end(),
                                   [](const LevelCost& one) { return one.used; });
    for (std::size_t above = level + 1; last && above < levels.size(); ++above) share += kFailureShares[above];
    const double rate = share / mtti_seconds;
    // A level that measured cheaper than the one below it costs something nevertheless.
    const double cost = std::max(levels[level].cost_seconds - cheaper, 1e-3 * levels[level].cost_seconds);
    result.seconds[level] = std::max(std::sqrt(2 * cost / rate), levels[level].drain_seconds);
    result.waste += cost / result.seconds[level] + rate * (result.seconds[level] / 2 + levels[level].restart_seconds);
    cheaper = levels[level].cost_seconds;
    share = 0;
  }
  return result;
}

}  // namespace shakedown::checkpoint
