// The clocks of a session; tests put others in their place, which jump and to which a cost can be told.
#pragma once

#include <functional>

namespace shakedown::checkpoint {

struct Clocks {
  /// Seconds since any moment, for intervals and costs. Called by the application's thread and by the helper's.
  std::function<double()> now;
  /// Seconds since 1970, which go into manifests. They decide between runs neither of which saw the other, and nothing
  /// else.
  std::function<double()> unix_now;
};

/// The operating system's: the one that nobody sets, and the one of the calendar.
Clocks real_clocks();

}  // namespace shakedown::checkpoint
