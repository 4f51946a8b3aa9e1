// Waiting on a simulated machine: asleep, to the nanosecond.
#include "collectives/waiting.hpp"

#include <time.h>

#include "collectives/clocks.hpp"

namespace shakedown::collectives {
namespace {

void sleep_for(std::int64_t duration_ns) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  const timespec nap{duration_ns / kSecondNs, duration_ns % kSecondNs};
  nanosleep(&nap, nullptr);
}

}  // namespace

std::int64_t wait_until(const SharedClock& clock, std::int64_t own_ns, bool /*yields*/) {
  const std::int64_t now_ns = clock.now_ns();
  if (now_ns < own_ns) sleep_for(own_ns - now_ns);
  return clock.now_ns();
}

void busy_for(std::int64_t duration_ns) { sleep_for(duration_ns); }

}  // namespace shakedown::collectives
