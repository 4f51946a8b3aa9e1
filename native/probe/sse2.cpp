#include <emmintrin.h>

#include "fma.hpp"

namespace shakedown::probe {
namespace {

// No fused multiply-add before Haswell: a multiplication and an addition, two operations all the same. The product does
// not change, so the compiler is kept from taking it out of the loop.
struct Double {
  using Scalar = double;
  using Register = __m128d;
  static constexpr int kLanes = 2;
  static Register set(double x) { return _mm_set1_pd(x); }
  static Register load(const double* at) { return _mm_loadu_pd(at); }
  static void store(double* at, Register x) { _mm_storeu_pd(at, x); }
  static Register product(Register p, Register q) {
    asm volatile("mulpd %1, %0" : "+x"(p) : "x"(q));
    return p;
  }
  static Register add(Register acc, Register p, Register q) { return _mm_add_pd(acc, product(p, q)); }
  static Register sub(Register acc, Register p, Register q) { return _mm_sub_pd(acc, product(p, q)); }
};

struct Single {
  using Scalar = float;
  using Register = __m128;
  static constexpr int kLanes = 4;
  static Register set(float x) { return _mm_set1_ps(x); }
  static Register load(const float* at) { return _mm_loadu_ps(at); }
  static void store(float* at, Register x) { _mm_storeu_ps(at, x); }
  static Register product(Register p, Register q) {
    asm volatile("mulps %1, %0" : "+x"(p) : "x"(q));
    return p;
  }
  static Register add(Register acc, Register p, Register q) { return _mm_add_ps(acc, product(p, q)); }
  static Register sub(Register acc, Register p, Register q) { return _mm_sub_ps(acc, product(p, q)); }
};

}  // namespace

// Ten accumulators, four factors and a product: fifteen of sixteen registers.
extern const Kernel kSse2Kernel = Build<Double, Single, 10>::kernel("sse2");

}  // namespace shakedown::probe
