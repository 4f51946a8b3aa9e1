#include "waiting.hpp"

#include <sched.h>
#include <time.h>

#include "clocks.hpp"
#include "common/clock.hpp"

namespace shakedown::collectives {

std::int64_t wait_until(const SharedClock& clock, std::int64_t own_ns, bool yields) {
  std::int64_t now_ns = clock.now_ns();
  while (now_ns < own_ns) {
    if (yields) sched_yield();
    now_ns = clock.now_ns();
  }
  return now_ns;
}

void busy_for(std::int64_t duration_ns) {
  const std::int64_t until_ns = read_clock_ns(CLOCK_MONOTONIC_RAW) + duration_ns;
  while (read_clock_ns(CLOCK_MONOTONIC_RAW) < until_ns) continue;
}

}  // namespace shakedown::collectives
