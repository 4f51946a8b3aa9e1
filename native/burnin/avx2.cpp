#include <immintrin.h>

#include "tile.hpp"

namespace shakedown::burnin {
namespace {

struct Double {
  using Register = __m256d;
  static constexpr int kLanes = 4;
  static constexpr bool kFused = true;
  static Register zero() { return _mm256_setzero_pd(); }
  static Register set(double x) { return _mm256_set1_pd(x); }
  static Register load(const double* at) { return _mm256_loadu_pd(at); }
  static void store(double* at, Register x) { _mm256_storeu_pd(at, x); }
  static Register multiply_add(Register acc, Register a, Register b) { return _mm256_fmadd_pd(a, b, acc); }
};

}  // namespace

extern const Kernel kAvx2Kernel = Tile<Double, 3, 4>::kernel("avx2");

}  // namespace shakedown::burnin
