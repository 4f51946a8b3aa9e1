// The loops in AVX2: 4 cells at a time.
#include <immintrin.h>

#include "lanes.hpp"
#include "loops.hpp"

namespace shakedown::hydro {
namespace {

using Four = double __attribute__((vector_size(32)));
using FourBits = std::int64_t __attribute__((vector_size(32)));

struct Avx2 : Lanes<Avx2, Four, FourBits> {
  SHAKEDOWN_INLINE static V sqrt(V x) { return _mm256_sqrt_pd(x); }
  SHAKEDOWN_INLINE static V most(V a, V b) { return _mm256_max_pd(a, b); }
  SHAKEDOWN_INLINE static V least(V a, V b) { return _mm256_min_pd(a, b); }
  SHAKEDOWN_INLINE static bool any(M m) { return _mm256_movemask_pd(reinterpret_cast<__m256d>(m)) != 0; }
};

}  // namespace

extern const Isa kAvx2;
const Isa kAvx2 = {"avx2", advance<Avx2>, fastest<Avx2>};

}  // namespace shakedown::hydro
