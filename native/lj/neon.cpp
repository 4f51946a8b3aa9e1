// The loops in NEON: 4 or 2 particles at a time.
#include <arm_neon.h>

#include "loops.hpp"

namespace shakedown::lj {
namespace {

struct Single {
  using T = float;
  using V = float32x4_t;
  using I = int32x4_t;
  using M = uint32x4_t;
  static constexpr std::size_t kLanes = 4;

  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    const auto part = [&](int k) { return vld1q_s32(&at(places, entry[k])->x); };
    const I a = part(0), b = part(1), c = part(2), d = part(3);
    const auto low = [](I p, I q) { return vreinterpretq_s64_s32(vtrn1q_s32(p, q)); };   // p0 q0 p2 q2
    const auto high = [](I p, I q) { return vreinterpretq_s64_s32(vtrn2q_s32(p, q)); };  // p1 q1 p3 q3
    x = vreinterpretq_s32_s64(vtrn1q_s64(low(a, b), low(c, d)));
    z = vreinterpretq_s32_s64(vtrn2q_s64(low(a, b), low(c, d)));
    y = vreinterpretq_s32_s64(vtrn1q_s64(high(a, b), high(c, d)));
  }
  SHAKEDOWN_INLINE static V delta(I a, I b) { return vcvtq_f32_s32(vsubq_s32(a, b)); }
  SHAKEDOWN_INLINE static V set(T x) { return vdupq_n_f32(x); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return vaddq_f32(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return vmulq_f32(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
  SHAKEDOWN_INLINE static V reciprocal(V a) { return vdivq_f32(set(1), a); }
  SHAKEDOWN_INLINE static M below(V a, V b) { return vcltq_f32(a, b); }
  SHAKEDOWN_INLINE static V keep(M mask, V x) {
    return vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(x)));
  }
  SHAKEDOWN_INLINE static void store(T* to, V x) { vst1q_f32(to, x); }
  SHAKEDOWN_INLINE static double total(V x) {
    return vaddvq_f64(vaddq_f64(vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)));
  }
  SHAKEDOWN_INLINE static std::size_t count(M mask) { return vaddvq_u32(vshrq_n_u32(mask, 31)); }
};

struct Double {
  using T = double;
  using V = float64x2_t;
  using I = int64x2_t;
  using M = uint64x2_t;
  static constexpr std::size_t kLanes = 2;

  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    const auto *a = at(places, entry[0]), *b = at(places, entry[1]);
    const I xy0 = vld1q_s64(&a->x), xy1 = vld1q_s64(&b->x);
    x = vtrn1q_s64(xy0, xy1);
    y = vtrn2q_s64(xy0, xy1);
    z = vcombine_s64(vld1_s64(&a->z), vld1_s64(&b->z));
  }
  SHAKEDOWN_INLINE static V delta(I a, I b) { return vcvtq_f64_s64(vsubq_s64(a, b)); }
  SHAKEDOWN_INLINE static V set(T x) { return vdupq_n_f64(x); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return vaddq_f64(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return vmulq_f64(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
  SHAKEDOWN_INLINE static V reciprocal(V a) { return vdivq_f64(set(1), a); }
  SHAKEDOWN_INLINE static M below(V a, V b) { return vcltq_f64(a, b); }
  SHAKEDOWN_INLINE static V keep(M mask, V x) {
    return vreinterpretq_f64_u64(vandq_u64(mask, vreinterpretq_u64_f64(x)));
  }
  SHAKEDOWN_INLINE static void store(T* to, V x) { vst1q_f64(to, x); }
  SHAKEDOWN_INLINE static double total(V x) { return vaddvq_f64(x); }
  SHAKEDOWN_INLINE static std::size_t count(M mask) { return vaddvq_u64(vshrq_n_u64(mask, 63)); }
};

}  // namespace

extern const Isa kNeon;
const Isa kNeon = {"neon", make_loops<Single>(), make_loops<Double>()};
}  // namespace shakedown::lj
