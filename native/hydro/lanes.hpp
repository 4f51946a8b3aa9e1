// A vector of doubles by the compiler's vector extension: its operators are those of each lane.
#pragma once

#include <cstdint>
#include <cstring>

#include "scheme.hpp"

namespace shakedown::hydro {

/// All that vectors of every length share; Own has sqrt, most, least and any, which the extension lacks.
template <class Own, class Vector, class Mask>
struct Lanes {
  using V = Vector;
  using M = Mask;
  static constexpr std::int64_t kLanes = sizeof(V) / sizeof(double);

  SHAKEDOWN_INLINE static V set(double x) { return x - V{}; }
  SHAKEDOWN_INLINE static V load(const double* from) {
    V x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  SHAKEDOWN_INLINE static void store(double* to, V x) { std::memcpy(to, &x, sizeof x); }
  SHAKEDOWN_INLINE static V choose(M where, V yes, V no) { return where ? yes : no; }
  /// Lanes k with i + k < end.
  SHAKEDOWN_INLINE static M below(std::int64_t i, std::int64_t end) {
    M place{};
    for (std::int64_t k = 0; k < kLanes; ++k) place[k] = i + k;
    return place < (end - M{});
  }
  SHAKEDOWN_INLINE static double largest(V x) {
    double most = x[0];
    for (std::int64_t k = 1; k < kLanes; ++k) most = x[k] > most ? x[k] : most;
    return most;
  }
};

}  // namespace shakedown::hydro
