// The clock of the core that a thread runs on, measured: additions that each take one cycle, over their time.
#pragma once

#include <algorithm>

#include "chain.hpp"
#include "clock.hpp"

namespace shakedown {

/// Cycles a second, the best of a few samples of a tenth of a millisecond; by the thread's own CPU time, so that what
/// other programs took of the CPU does not count.
inline double clock_hz() {
  constexpr int kSamples = 5;
  constexpr std::uint64_t kAdds = 1 << 18;
  double best = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::uint64_t total = 0;
    const std::uint64_t one = opaque_one();
    const auto begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint64_t done = 0; done < kAdds; done += 64) add_times<64>(total, one);
    const auto passed = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (passed > 0 && total == kAdds) best = std::max(best, static_cast<double>(kAdds) / static_cast<double>(passed));
  }
  return best * 1e9;
}

}  // namespace shakedown
