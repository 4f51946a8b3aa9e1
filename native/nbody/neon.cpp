// The loops in NEON. FRSQRTE gives 8 bits, |relative error| < 2^-8; a Newton step (FRSQRTS) makes 1.5 x 2^-16 of it.
#include <arm_neon.h>

#include "loops.hpp"

namespace shakedown::nbody {
namespace {

SHAKEDOWN_INLINE void add_doubles(float64x2_t x, double* to) { vst1q_f64(to, vaddq_f64(vld1q_f64(to), x)); }

struct Single {
  using T = float;
  using V = float32x4_t;
  static constexpr std::size_t kLanes = 4;
  static constexpr int kRows = 4, kDegree = 1, kEstimateInstructions = 4;
  static constexpr double kEstimate = 0x1.8p-16;
  SHAKEDOWN_INLINE static V set(T x) { return vdupq_n_f32(x); }
  SHAKEDOWN_INLINE static V load(const T* at) { return vld1q_f32(at); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return vaddq_f32(a, b); }
  SHAKEDOWN_INLINE static V sub(V a, V b) { return vsubq_f32(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return vmulq_f32(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return vfmsq_f32(c, a, b); }
  SHAKEDOWN_INLINE static V estimate(V s) {
    const V y = vrsqrteq_f32(s);
    return vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(s, y), y));
  }
  SHAKEDOWN_INLINE static void total(V x, double* to) {
    add_doubles(vcvt_f64_f32(vget_low_f32(x)), to);
    add_doubles(vcvt_high_f64_f32(x), to + 2);
  }
};

struct Double {
  using T = double;
  using V = float64x2_t;
  static constexpr std::size_t kLanes = 2;
  static constexpr int kRows = 4, kDegree = 3, kEstimateInstructions = 4;
  static constexpr double kEstimate = 0x1.8p-16;
  SHAKEDOWN_INLINE static V set(T x) { return vdupq_n_f64(x); }
  SHAKEDOWN_INLINE static V load(const T* at) { return vld1q_f64(at); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return vaddq_f64(a, b); }
  SHAKEDOWN_INLINE static V sub(V a, V b) { return vsubq_f64(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return vmulq_f64(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return vfmsq_f64(c, a, b); }
  SHAKEDOWN_INLINE static V estimate(V s) {
    const V y = vrsqrteq_f64(s);
    return vmulq_f64(y, vrsqrtsq_f64(vmulq_f64(s, y), y));
  }
  SHAKEDOWN_INLINE static void total(V x, double* to) { add_doubles(x, to); }
};

}  // namespace

extern const Isa kNeon;
const Isa kNeon = {"neon", Inner<Single>::loops(), Inner<Double>::loops()};
}  // namespace shakedown::nbody
