#include <immintrin.h>

#include "tile.hpp"

namespace shakedown::burnin {
namespace {

struct Double {
  using Register = __m512d;
  static constexpr int kLanes = 8;
  static constexpr bool kFused = true;
  static Register zero() { return _mm512_setzero_pd(); }
  static Register set(double x) { return _mm512_set1_pd(x); }
  static Register load(const double* at) { return _mm512_loadu_pd(at); }
  static void store(double* at, Register x) { _mm512_storeu_pd(at, x); }
  static Register multiply_add(Register acc, Register a, Register b) { return _mm512_fmadd_pd(a, b, acc); }
};

}  // namespace

extern const Kernel kAvx512Kernel = Tile<Double, 3, 8>::kernel("avx512");

}  // namespace shakedown::burnin
