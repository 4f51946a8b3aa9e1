// Clocks: monotonic time for durations, Unix time for marks that meters on the same host share.
#pragma once

#include <time.h>

#include <cstdint>

namespace shakedown {

inline std::int64_t read_clock_ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t monotonic_ns() { return read_clock_ns(CLOCK_MONOTONIC); }
inline std::int64_t unix_ns() { return read_clock_ns(CLOCK_REALTIME); }

/// Seconds on the monotonic clock: differences only.
inline double now_s() { return static_cast<double>(monotonic_ns()) * 1e-9; }

}  // namespace shakedown
