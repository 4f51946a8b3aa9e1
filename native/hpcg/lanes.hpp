// What vectors of every length share: loads and stores at any address by the compiler's vector extension.
#pragma once

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
};

}  // namespace
}  // namespace shakedown::hpcg
