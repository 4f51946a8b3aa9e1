// The loops in AVX2: two vectors of four.
#include <immintrin.h>

#include "lanes.hpp"

namespace shakedown::hpcg {
namespace {

struct Avx2 : Lanes<double __attribute__((vector_size(32)))> {
  SHAKEDOWN_INLINE static bool consecutive(const std::int32_t* columns) {
    const __m256i line = _mm256_add_epi32(_mm256_set1_epi32(columns[0]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i given = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
    const __m256i apart = _mm256_xor_si256(line, given);
    return _mm256_testz_si256(apart, apart) != 0;
  }
  // Four loads: a gather is no faster on any of them, and slow where the microcode guards it.
  SHAKEDOWN_INLINE static V gather(const double* x, const std::int32_t* columns) {
    return V{x[columns[0]], x[columns[1]], x[columns[2]], x[columns[3]]};
  }
};

}  // namespace

extern const Isa kAvx2;
const Isa kAvx2 = loops<Avx2>("avx2");

}  // namespace shakedown::hpcg
