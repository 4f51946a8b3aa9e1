// The loops in AVX-512: 8 cells at a time.
#include <immintrin.h>

#include "lanes.hpp"
#include "loops.hpp"

namespace shakedown::hydro {
namespace {

using Eight = double __attribute__((vector_size(64)));
using EightBits = std::int64_t __attribute__((vector_size(64)));

struct Avx512 : Lanes<Avx512, Eight, EightBits> {
  // The forms with a mask, whole: GCC warns of an undefined value in its own header for the others.
  SHAKEDOWN_INLINE static V sqrt(V x) { return _mm512_maskz_sqrt_pd(0xff, x); }
  SHAKEDOWN_INLINE static V most(V a, V b) { return _mm512_maskz_max_pd(0xff, a, b); }
  SHAKEDOWN_INLINE static V least(V a, V b) { return _mm512_maskz_min_pd(0xff, a, b); }
  SHAKEDOWN_INLINE static bool any(M m) { return _mm512_movepi64_mask(reinterpret_cast<__m512i>(m)) != 0; }
};

}  // namespace

extern const Isa kAvx512;
const Isa kAvx512 = {"avx512", advance<Avx512>, fastest<Avx512>};

}  // namespace shakedown::hydro
