// What vectors of every length share: loads and stores at any address by the compiler's vector extension.
#pragma once

#include <utility>

#include "loops.hpp"

namespace shakedown::hpcg {
namespace {

template <class Vector>
struct Lanes {
  using V = Vector;
  static constexpr int kLanes = sizeof(V) / sizeof(double);
  SHAKEDOWN_INLINE static V load(const double* from) {
    V x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
  }
  SHAKEDOWN_INLINE static void store(double* to, V x) { __builtin_memcpy(to, &x, sizeof x); }
  /// The last d numbers of `before` and the first of x; and the last of x and the first d of `behind`.
  template <int d>
  SHAKEDOWN_INLINE static V up(V before, V x) {
    return up<d>(before, x, std::make_integer_sequence<int, kLanes>());
  }
  template <int d>
  SHAKEDOWN_INLINE static V down(V x, V behind) {
    return down<d>(x, behind, std::make_integer_sequence<int, kLanes>());
  }

 private:
  template <int d, int... k>
  SHAKEDOWN_INLINE static V up(V before, V x, std::integer_sequence<int, k...>) {
    return __builtin_shufflevector(before, x, (kLanes - d + k)...);
  }
  template <int d, int... k>
  SHAKEDOWN_INLINE static V down(V x, V behind, std::integer_sequence<int, k...>) {
    return __builtin_shufflevector(x, behind, (d + k)...);
  }
};

}  // namespace
}  // namespace shakedown::hpcg
