// How many operations make a sample, and how many samples a case has.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "clock.hpp"

namespace shakedown {

/// So many iterations that a sample lasts `sample_s`, after `warm_s` of trying: by the shortest of three, so that one
/// that was held up does not make all samples too short. `sample` takes a number of iterations and gives seconds.
template <class Sample>
std::int64_t calibrated_iterations(double sample_s, double warm_s, Sample&& sample) {
  std::int64_t iterations = 1;
  const double begin = now_s();
  for (;;) {
    const double seconds = std::min({sample(iterations), sample(iterations), sample(iterations)});
    if (seconds >= sample_s) {
      if (now_s() - begin >= warm_s) return iterations;
      continue;
    }
    const double factor = std::clamp(1.2 * sample_s / std::max(seconds, 1e-9), 1.1, 8.0);
    iterations = static_cast<std::int64_t>(std::ceil(static_cast<double>(iterations) * factor));
  }
}

/// `take` once for each of `samples`; after `budget_s` seconds no more where there are `few` of them.
template <class Take>
void take_samples(std::int64_t samples, std::int64_t few, double budget_s, Take&& take) {
  const double begin = now_s();
  for (std::int64_t count = 0; count < samples; ++count) {
    if (count >= few && now_s() - begin >= budget_s) return;
    take();
  }
}

/// Whether a case of which some samples are left out wants another one, after `tries` in `passed_s` seconds: until it
/// has `samples`; after its budget only until it has a `few`; after 20 budgets, or a second, it ends, whatever it has.
inline bool wants_sample(std::int64_t count, std::int64_t tries, double passed_s, std::int64_t samples,
                         std::int64_t few, double budget_s) {
  constexpr double kMostBudgets = 20;
  if (count >= samples || (passed_s > budget_s && count >= few)) return false;
  return passed_s <= std::max(1.0, kMostBudgets * budget_s) || tries == 0;
}

}  // namespace shakedown
