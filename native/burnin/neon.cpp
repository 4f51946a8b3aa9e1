#include <arm_neon.h>

#include "tile.hpp"

namespace shakedown::burnin {
namespace {

struct Double {
  using Register = float64x2_t;
  static constexpr int kLanes = 2;
  static constexpr bool kFused = true;
  static Register zero() { return vdupq_n_f64(0); }
  static Register set(double x) { return vdupq_n_f64(x); }
  static Register load(const double* at) { return vld1q_f64(at); }
  static void store(double* at, Register x) { vst1q_f64(at, x); }
  static Register multiply_add(Register acc, Register a, Register b) { return vfmaq_f64(acc, a, b); }
};

}  // namespace

extern const Kernel kNeonKernel = Tile<Double, 4, 6>::kernel("neon");

}  // namespace shakedown::burnin
