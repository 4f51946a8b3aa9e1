#include <immintrin.h>

#include "fma.hpp"

namespace shakedown::probe {
namespace {

struct Double {
  using Scalar = double;
  using Register = __m256d;
  static constexpr int kLanes = 4;
  static Register set(double x) { return _mm256_set1_pd(x); }
  static Register load(const double* at) { return _mm256_loadu_pd(at); }
  static void store(double* at, Register x) { _mm256_storeu_pd(at, x); }
  static Register add(Register acc, Register p, Register q) { return _mm256_fmadd_pd(p, q, acc); }
  static Register sub(Register acc, Register p, Register q) { return _mm256_fnmadd_pd(p, q, acc); }
};

struct Single {
  using Scalar = float;
  using Register = __m256;
  static constexpr int kLanes = 8;
  static Register set(float x) { return _mm256_set1_ps(x); }
  static Register load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, Register x) { _mm256_storeu_ps(at, x); }
  static Register add(Register acc, Register p, Register q) { return _mm256_fmadd_ps(p, q, acc); }
  static Register sub(Register acc, Register p, Register q) { return _mm256_fnmadd_ps(p, q, acc); }
};

}  // namespace

// Twelve accumulators and four factors: all sixteen registers.
extern const Kernel kAvx2Kernel = Build<Double, Single, 12>::kernel("avx2");

}  // namespace shakedown::probe
