// When the next checkpoint of each level is worth its cost. Times in seconds, rates in 1 / s.
#pragma once

#include <array>
#include <cstddef>

namespace shakedown::checkpoint {

inline constexpr int kLevels = 5;  // [1] to [4] are used

/// What a level costs, as measured; 0 where it has not been yet.
struct LevelCost {
  bool used = false;
  double cost_seconds = 0;   // taken from the application: blocked, and the processor time of the helper
  double drain_seconds = 0;  // until it protects
  double restart_seconds = 0;
};

/// The last few of what was measured. Their median: one checkpoint during which the machine stood still, or its clock
/// jumped, says nothing of the next.
class Recent {
 public:
  void add(double seconds) { values_[count_++ % values_.size()] = seconds; }
  [[nodiscard]] bool any() const { return count_ > 0; }
  /// 0 where there is none.
  [[nodiscard]] double median() const;

 private:
  std::array<double, 5> values_ = {};
  std::size_t count_ = 0;
};

/// What the last checkpoints of a level took.
struct RecentCosts {
  Recent blocked_seconds;
  Recent cpu_seconds;  // of the helper
  Recent drain_seconds;
};

struct Intervals {
  std::array<double, kLevels> seconds = {};  // 0: not used
  double waste = 0;                          // predicted fraction of time lost
};

/// Shares of failures that need a restart from level i, [1] to [4]: processes, one node, several nodes, more. The mix
/// of the published multilevel studies; a failure that a level which is not used would cover falls to the next.
inline constexpr std::array<double, kLevels> kFailureShares = {0, 0.60, 0.30, 0.08, 0.02};

/// First order, Benoit et al., IEEE Transactions on Computers 2017: with c_i what level i costs beyond level i - 1 and
/// l_i the rate of failures that need it, W_i = sqrt(2 c_i / l_i), and the waste is the sum of sqrt(2 l_i c_i) + l_i
/// R_i. Not below the time that a checkpoint takes to protect.
Intervals best_intervals(const std::array<LevelCost, kLevels>& levels, double mtti_seconds);

}  // namespace shakedown::checkpoint
