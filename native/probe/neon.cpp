#include <arm_neon.h>

#include "fma.hpp"

namespace shakedown::probe {
namespace {

struct Double {
  using Scalar = double;
  using Register = float64x2_t;
  static constexpr int kLanes = 2;
  static Register set(double x) { return vdupq_n_f64(x); }
  static Register load(const double* at) { return vld1q_f64(at); }
  static void store(double* at, Register x) { vst1q_f64(at, x); }
  static Register add(Register acc, Register p, Register q) { return vfmaq_f64(acc, p, q); }
  static Register sub(Register acc, Register p, Register q) { return vfmsq_f64(acc, p, q); }
};

struct Single {
  using Scalar = float;
  using Register = float32x4_t;
  static constexpr int kLanes = 4;
  static Register set(float x) { return vdupq_n_f32(x); }
  static Register load(const float* at) { return vld1q_f32(at); }
  static void store(float* at, Register x) { vst1q_f32(at, x); }
  static Register add(Register acc, Register p, Register q) { return vfmaq_f32(acc, p, q); }
  static Register sub(Register acc, Register p, Register q) { return vfmsq_f32(acc, p, q); }
};

}  // namespace

extern const Kernel kNeonKernel = Build<Double, Single, 24>::kernel("neon");

}  // namespace shakedown::probe
