// The loops in AVX2 with FMA. The one estimate is VRSQRTPS, |relative error| < 1.5 x 2^-12; in double precision it is
// taken of the numbers rounded to single, which adds at most 2^-25: squared distances must then lie in single's range.
#include <immintrin.h>

#include "loops.hpp"

namespace shakedown::nbody {
namespace {

SHAKEDOWN_INLINE void add_doubles(__m256d x, double* to) {
  _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), x));
}

struct Single {
  using T = float;
  using V = __m256;
  static constexpr std::size_t kLanes = 8;
  static constexpr int kRows = 2, kDegree = 2, kEstimateInstructions = 1;
  static constexpr double kEstimate = 0x1.8p-12;
  SHAKEDOWN_INLINE static V set(T x) { return _mm256_set1_ps(x); }
  SHAKEDOWN_INLINE static V load(const T* at) { return _mm256_load_ps(at); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm256_add_ps(a, b); }
  SHAKEDOWN_INLINE static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
  SHAKEDOWN_INLINE static V estimate(V s) { return _mm256_rsqrt_ps(s); }
  SHAKEDOWN_INLINE static void total(V x, double* to) {
    add_doubles(_mm256_cvtps_pd(_mm256_castps256_ps128(x)), to);
    add_doubles(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)), to + 4);
  }
};

struct Double {
  using T = double;
  using V = __m256d;
  static constexpr std::size_t kLanes = 4;
  static constexpr int kRows = 2, kDegree = 4, kEstimateInstructions = 3;
  static constexpr double kEstimate = 0x1.801p-12;
  SHAKEDOWN_INLINE static V set(T x) { return _mm256_set1_pd(x); }
  SHAKEDOWN_INLINE static V load(const T* at) { return _mm256_load_pd(at); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm256_add_pd(a, b); }
  SHAKEDOWN_INLINE static V sub(V a, V b) { return _mm256_sub_pd(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm256_mul_pd(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm256_fnmadd_pd(a, b, c); }
  SHAKEDOWN_INLINE static V estimate(V s) { return _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(s))); }
  SHAKEDOWN_INLINE static void total(V x, double* to) { add_doubles(x, to); }
};

}  // namespace

extern const Isa kAvx2;
const Isa kAvx2 = {"avx2", Inner<Single>::loops(), Inner<Double>::loops()};
}  // namespace shakedown::nbody
