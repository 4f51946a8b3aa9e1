// Bytes over time: bins that grow wider as time goes on, so that nothing is allocated while it is measured.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shakedown::storage {

/// What a thread moved, by the times at which transfers ended, in seconds from the common begin.
class OverTime {
 public:
  static constexpr std::size_t kBins = 64;
  static constexpr double kNarrowest = 0.001;  // s

  void add(double at_s, std::uint64_t bytes) {
    while (at_s >= width_ * static_cast<double>(kBins)) widen();
    bins_[static_cast<std::size_t>(std::max(at_s, 0.0) / width_)] += bytes;
  }
  /// Seconds of each bin.
  [[nodiscard]] double width() const { return width_; }
  /// The bytes of each bin of `width` seconds, a power of two times our own; trailing empty ones left out.
  [[nodiscard]] std::vector<std::uint64_t> at(double width) const {
    const auto each = static_cast<std::size_t>(std::lround(width / width_));
    std::vector<std::uint64_t> found;
    for (std::size_t i = 0; i < kBins; ++i) {
      if (bins_[i] == 0) continue;
      if (found.size() <= i / each) found.resize(i / each + 1);
      found[i / each] += bins_[i];
    }
    return found;
  }

 private:
  void widen() {
    for (std::size_t i = 0; i < kBins; ++i) {
      const std::uint64_t both = i < kBins / 2 ? bins_[2 * i] + bins_[2 * i + 1] : 0;
      bins_[i] = both;
    }
    width_ *= 2;
  }

  double width_ = kNarrowest;
  std::array<std::uint64_t, kBins> bins_{};
};

}  // namespace shakedown::storage
