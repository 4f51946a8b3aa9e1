// The loops in AVX-512: one vector is one cache line.
#include <immintrin.h>

#include "loops.hpp"

namespace shakedown::stream {
namespace {
struct Avx512 {
  using T = __m512d;
  static constexpr std::size_t kDoubles = 8;
  SHAKEDOWN_INLINE static T fill(double q) { return _mm512_set1_pd(q); }
  SHAKEDOWN_INLINE static T load(const double* at) { return _mm512_load_pd(at); }
  SHAKEDOWN_INLINE static T add(T x, T y) { return _mm512_add_pd(x, y); }
  SHAKEDOWN_INLINE static T multiply(T x, T y) { return _mm512_mul_pd(x, y); }
  SHAKEDOWN_INLINE static T multiply_add(T x, T y, T z) { return _mm512_fmadd_pd(x, y, z); }
  template <bool nt>
  SHAKEDOWN_INLINE static void store_line(double* at, const T (&line)[1]) {
    nt ? _mm512_stream_pd(at, line[0]) : _mm512_store_pd(at, line[0]);
  }
  SHAKEDOWN_INLINE static double total(T x) {
    alignas(64) double lanes[8];
    _mm512_store_pd(lanes, x);
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
  }
  SHAKEDOWN_INLINE static void fence() { _mm_sfence(); }
};
}  // namespace

extern const IsaLoops kAvx512Loops;
const IsaLoops kAvx512Loops = make_loops<Fixed<Avx512>, true>("avx512");
}  // namespace shakedown::stream
