// For tests of schedules: which steps have happened before which, as a race detector sees it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace shakedown::hpl_gpu::testing {

/// Of steps in lanes, the host's being the last lane.
template <class Step>
class Before {
 public:
  explicit Before(const std::vector<Step>& steps) : steps_(steps), seen_(steps.size()) {
    Seen last;
    last.fill(-1);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Seen& mine = seen_[i];
      mine.fill(-1);
      join(mine, last[lane(i)]);
      join(mine, last[kHost]);  // the host puts a step into its lane after it has done its own
      for (const int earlier : steps[i].after) join(mine, earlier);
      last[lane(i)] = static_cast<int>(i);
    }
  }

  /// Whether step i, which stands before step j in the list, is done when step j begins.
  [[nodiscard]] bool operator()(std::size_t i, std::size_t j) const { return seen_[j][lane(i)] >= static_cast<int>(i); }

 private:
  using Lane = decltype(Step::lane);
  static constexpr auto kHost = static_cast<std::size_t>(Lane::host);
  using Seen = std::array<int, kHost + 1>;  // of each lane the last step that has happened; -1: none

  [[nodiscard]] std::size_t lane(std::size_t step) const { return static_cast<std::size_t>(steps_[step].lane); }
  void join(Seen& mine, int earlier) const {
    if (earlier < 0) return;
    const auto at = static_cast<std::size_t>(earlier);
    for (std::size_t l = 0; l < mine.size(); ++l) mine[l] = std::max(mine[l], seen_[at][l]);
    mine[lane(at)] = std::max(mine[lane(at)], earlier);
  }

  const std::vector<Step>& steps_;
  std::vector<Seen> seen_;
};

}  // namespace shakedown::hpl_gpu::testing
