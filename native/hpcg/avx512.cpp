// The loops in AVX-512: one vector of eight.
#include <immintrin.h>

#include "lanes.hpp"

namespace shakedown::hpcg {
namespace {

struct Avx512 : Lanes<double __attribute__((vector_size(64)))> {
  SHAKEDOWN_INLINE static bool consecutive(const std::int32_t* columns) {
    const __m256i line = _mm256_add_epi32(_mm256_set1_epi32(columns[0]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i given = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
    const __m256i apart = _mm256_xor_si256(line, given);
    return _mm256_testz_si256(apart, apart) != 0;
  }
  SHAKEDOWN_INLINE static V gather(const double* x, const std::int32_t* columns) {
    return V{x[columns[0]], x[columns[1]], x[columns[2]], x[columns[3]],
             x[columns[4]], x[columns[5]], x[columns[6]], x[columns[7]]};
  }
};

}  // namespace

extern const Isa kAvx512;
const Isa kAvx512 = loops<Avx512>("avx512");

}  // namespace shakedown::hpcg
