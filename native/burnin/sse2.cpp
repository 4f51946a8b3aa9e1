#include <emmintrin.h>

#include "tile.hpp"

namespace shakedown::burnin {
namespace {

struct Double {
  using Register = __m128d;
  static constexpr int kLanes = 2;
  static constexpr bool kFused = false;
  static Register zero() { return _mm_setzero_pd(); }
  static Register set(double x) { return _mm_set1_pd(x); }
  static Register load(const double* at) { return _mm_loadu_pd(at); }
  static void store(double* at, Register x) { _mm_storeu_pd(at, x); }
  static Register multiply_add(Register acc, Register a, Register b) { return _mm_add_pd(acc, _mm_mul_pd(a, b)); }
};

}  // namespace

extern const Kernel kSse2Kernel = Tile<Double, 2, 4>::kernel("sse2");

}  // namespace shakedown::burnin
