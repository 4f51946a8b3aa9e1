// The loops in AVX2 with FMA: two vectors to a cache line.
#include <immintrin.h>

#include "loops.hpp"

namespace shakedown::stream {
namespace {
struct Avx2 {
  using T = __m256d;
  static constexpr std::size_t kDoubles = 4;
  SHAKEDOWN_INLINE static T fill(double q) { return _mm256_set1_pd(q); }
  SHAKEDOWN_INLINE static T load(const double* at) { return _mm256_load_pd(at); }
  SHAKEDOWN_INLINE static T add(T x, T y) { return _mm256_add_pd(x, y); }
  SHAKEDOWN_INLINE static T multiply(T x, T y) { return _mm256_mul_pd(x, y); }
  SHAKEDOWN_INLINE static T multiply_add(T x, T y, T z) { return _mm256_fmadd_pd(x, y, z); }
  template <bool nt>
  SHAKEDOWN_INLINE static void store_line(double* at, const T (&line)[2]) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) {
      nt ? _mm256_stream_pd(at + 4 * v, line[v]) : _mm256_store_pd(at + 4 * v, line[v]);
    }
  }
  SHAKEDOWN_INLINE static double total(T x) {
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(half) + _mm_cvtsd_f64(_mm_unpackhi_pd(half, half));
  }
  SHAKEDOWN_INLINE static void fence() { _mm_sfence(); }
};
}  // namespace

extern const IsaLoops kAvx2Loops;
const IsaLoops kAvx2Loops = make_loops<Fixed<Avx2>, true>("avx2");
}  // namespace shakedown::stream
