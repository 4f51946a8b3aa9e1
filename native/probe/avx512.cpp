#include <immintrin.h>

#include "fma.hpp"

namespace shakedown::probe {
namespace {

struct Double {
  using Scalar = double;
  using Register = __m512d;
  static constexpr int kLanes = 8;
  static Register set(double x) { return _mm512_set1_pd(x); }
  static Register load(const double* at) { return _mm512_loadu_pd(at); }
  static void store(double* at, Register x) { _mm512_storeu_pd(at, x); }
  static Register add(Register acc, Register p, Register q) { return _mm512_fmadd_pd(p, q, acc); }
  static Register sub(Register acc, Register p, Register q) { return _mm512_fnmadd_pd(p, q, acc); }
};

struct Single {
  using Scalar = float;
  using Register = __m512;
  static constexpr int kLanes = 16;
  static Register set(float x) { return _mm512_set1_ps(x); }
  static Register load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, Register x) { _mm512_storeu_ps(at, x); }
  static Register add(Register acc, Register p, Register q) { return _mm512_fmadd_ps(p, q, acc); }
  static Register sub(Register acc, Register p, Register q) { return _mm512_fnmadd_ps(p, q, acc); }
};

}  // namespace

extern const Kernel kAvx512Kernel = Build<Double, Single, 24>::kernel("avx512");

}  // namespace shakedown::probe
