// Waiting for an instant, apart from what waits: on a simulated machine, where a loop takes no time, another source
// stands in its place (native/testing/simulated).
#pragma once

#include <cstdint>

namespace shakedown::collectives {

class SharedClock;

/// Spin until this rank's clock shows `own_ns`; what it showed then. Ranks that share a CPU give way meanwhile.
std::int64_t wait_until(const SharedClock& clock, std::int64_t own_ns, bool yields);

/// Spin for so long, as one who computes.
void busy_for(std::int64_t duration_ns);

}  // namespace shakedown::collectives
