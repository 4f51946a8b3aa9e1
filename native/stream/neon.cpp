// The loops in NEON, which every 64-bit Arm has. Its non-temporal store takes two vectors.
#include <arm_neon.h>

#include "loops.hpp"

namespace shakedown::stream {
namespace {
struct Neon {
  using T = float64x2_t;
  static constexpr std::size_t kDoubles = 2;
  SHAKEDOWN_INLINE static T fill(double q) { return vdupq_n_f64(q); }
  SHAKEDOWN_INLINE static T load(const double* at) { return vld1q_f64(at); }
  SHAKEDOWN_INLINE static T add(T x, T y) { return vaddq_f64(x, y); }
  SHAKEDOWN_INLINE static T multiply(T x, T y) { return vmulq_f64(x, y); }
  SHAKEDOWN_INLINE static T multiply_add(T x, T y, T z) { return vfmaq_f64(z, x, y); }
  template <bool nt>
  SHAKEDOWN_INLINE static void store_line(double* at, const T (&line)[4]) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 4; v += 2) {
      if constexpr (nt) {
        asm volatile("stnp %q0, %q1, [%2]" : : "w"(line[v]), "w"(line[v + 1]), "r"(at + 2 * v) : "memory");
      } else {
        vst1q_f64(at + 2 * v, line[v]);
        vst1q_f64(at + 2 * v + 2, line[v + 1]);
      }
    }
  }
  SHAKEDOWN_INLINE static double total(T x) { return vaddvq_f64(x); }
  SHAKEDOWN_INLINE static void fence() { asm volatile("dmb ishst" : : : "memory"); }
};
}  // namespace

extern const IsaLoops kNeonLoops;
const IsaLoops kNeonLoops = make_loops<Fixed<Neon>, true>("neon");
}  // namespace shakedown::stream
