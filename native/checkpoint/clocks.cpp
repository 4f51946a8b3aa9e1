#include "clocks.hpp"

#include "common/clock.hpp"

namespace shakedown::checkpoint {

Clocks real_clocks() {
  return {[] { return now_s(); }, [] { return static_cast<double>(unix_ns()) * 1e-9; }};
}

}  // namespace shakedown::checkpoint
