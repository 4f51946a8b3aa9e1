// The field in AVX2: 16 products at a time of each half of a byte, looked up by a shuffle.
#include <immintrin.h>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Avx2 {
  using T = __m256i;
  using Factor = Halves;
  struct Operand {
    T low, high;
  };
  struct Table {
    T low, high;
  };
  static constexpr std::size_t kBytes = 32;
  static constexpr int kRows = 4;
  SHAKEDOWN_INLINE static T load(const std::uint8_t* at) { return _mm256_loadu_si256(reinterpret_cast<const T*>(at)); }
  SHAKEDOWN_INLINE static void store(std::uint8_t* at, T x) { _mm256_storeu_si256(reinterpret_cast<T*>(at), x); }
  SHAKEDOWN_INLINE static T zero() { return _mm256_setzero_si256(); }
  SHAKEDOWN_INLINE static const Factor& factor(std::uint8_t value) { return kFactorTables.halves[value]; }
  SHAKEDOWN_INLINE static T both(const std::uint8_t* half) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(half)));
  }
  SHAKEDOWN_INLINE static Table table(const Factor& factor) { return {both(factor.low), both(factor.high)}; }
  SHAKEDOWN_INLINE static Operand operand(T x) {
    const T mask = _mm256_set1_epi8(0x0f);
    return {_mm256_and_si256(x, mask), _mm256_and_si256(_mm256_srli_epi64(x, 4), mask)};
  }
  SHAKEDOWN_INLINE static T add_product(T sum, const Table& table, const Operand& x) {
    const T high = _mm256_xor_si256(sum, _mm256_shuffle_epi8(table.high, x.high));
    return _mm256_xor_si256(high, _mm256_shuffle_epi8(table.low, x.low));
  }
};

}  // namespace

extern const FieldLoops kFieldAvx2;
const FieldLoops kFieldAvx2 = {"avx2", combine<Avx2>};
}  // namespace shakedown::coding
