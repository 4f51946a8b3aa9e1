// The loops in SSE2, which every x86-64 has: four vectors to a cache line.
#include <emmintrin.h>

#include "loops.hpp"

namespace shakedown::stream {
namespace {
struct Sse2 {
  using T = __m128d;
  static constexpr std::size_t kDoubles = 2;
  SHAKEDOWN_INLINE static T fill(double q) { return _mm_set1_pd(q); }
  SHAKEDOWN_INLINE static T load(const double* at) { return _mm_load_pd(at); }
  SHAKEDOWN_INLINE static T add(T x, T y) { return _mm_add_pd(x, y); }
  SHAKEDOWN_INLINE static T multiply(T x, T y) { return _mm_mul_pd(x, y); }
  SHAKEDOWN_INLINE static T multiply_add(T x, T y, T z) { return _mm_add_pd(_mm_mul_pd(x, y), z); }
  template <bool nt>
  SHAKEDOWN_INLINE static void store_line(double* at, const T (&line)[4]) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) {
      nt ? _mm_stream_pd(at + 2 * v, line[v]) : _mm_store_pd(at + 2 * v, line[v]);
    }
  }
  SHAKEDOWN_INLINE static double total(T x) { return _mm_cvtsd_f64(x) + _mm_cvtsd_f64(_mm_unpackhi_pd(x, x)); }
  SHAKEDOWN_INLINE static void fence() { _mm_sfence(); }
};
}  // namespace

extern const IsaLoops kSse2Loops;
const IsaLoops kSse2Loops = make_loops<Fixed<Sse2>, true>("sse2");
}  // namespace shakedown::stream
