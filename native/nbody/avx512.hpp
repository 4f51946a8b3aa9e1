// The vectors of AVX-512: an estimate of 14 bits in either precision (VRSQRT14PS, VRSQRT14PD: |relative error| <
// 2^-14).
#pragma once

#include <immintrin.h>

#include "loops.hpp"

namespace shakedown::nbody {
namespace {

SHAKEDOWN_INLINE void add_doubles(__m512d x, double* to) {
  _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), x));
}

struct Single {
  using T = float;
  using V = __m512;
  static constexpr std::size_t kLanes = 16;
  static constexpr int kRows = 4, kDegree = 1, kEstimateInstructions = 1;
  static constexpr double kEstimate = 0x1p-14;
  SHAKEDOWN_INLINE static V set(T x) { return _mm512_set1_ps(x); }
  SHAKEDOWN_INLINE static V load(const T* at) { return _mm512_load_ps(at); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm512_add_ps(a, b); }
  SHAKEDOWN_INLINE static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
  SHAKEDOWN_INLINE static V estimate(V s) { return _mm512_maskz_rsqrt14_ps(0xffff, s); }
  SHAKEDOWN_INLINE static void total(V x, double* to) {
    alignas(64) float lanes[16];
    _mm512_store_ps(lanes, x);
    add_doubles(_mm512_maskz_cvtps_pd(0xff, _mm256_load_ps(lanes)), to);
    add_doubles(_mm512_maskz_cvtps_pd(0xff, _mm256_load_ps(lanes + 8)), to + 8);
  }
};

struct Double {
  using T = double;
  using V = __m512d;
  static constexpr std::size_t kLanes = 8;
  static constexpr int kRows = 4, kDegree = 3, kEstimateInstructions = 1;
  static constexpr double kEstimate = 0x1p-14;
  SHAKEDOWN_INLINE static V set(T x) { return _mm512_set1_pd(x); }
  SHAKEDOWN_INLINE static V load(const T* at) { return _mm512_load_pd(at); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm512_add_pd(a, b); }
  SHAKEDOWN_INLINE static V sub(V a, V b) { return _mm512_sub_pd(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm512_mul_pd(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm512_fnmadd_pd(a, b, c); }
  SHAKEDOWN_INLINE static V estimate(V s) { return _mm512_maskz_rsqrt14_pd(0xff, s); }
  SHAKEDOWN_INLINE static void total(V x, double* to) { add_doubles(x, to); }
};

}  // namespace
}  // namespace shakedown::nbody
