// The field in AVX-512: as in AVX2, 64 bytes at a time, both halves added in one instruction.
#include <immintrin.h>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Avx512 {
  using T = __m512i;
  using Factor = Halves;
  struct Operand {
    T low, high;
  };
  struct Table {
    T low, high;
  };
  static constexpr std::size_t kBytes = 64;
  static constexpr int kRows = 8;
  SHAKEDOWN_INLINE static T load(const std::uint8_t* at) { return _mm512_loadu_si512(at); }
  SHAKEDOWN_INLINE static void store(std::uint8_t* at, T x) { _mm512_storeu_si512(at, x); }
  SHAKEDOWN_INLINE static T zero() { return _mm512_setzero_si512(); }
  SHAKEDOWN_INLINE static const Factor& factor(std::uint8_t value) { return kFactorTables.halves[value]; }
  static constexpr __mmask16 kAll = 0xffff;  // without a mask, GCC 12 warns of its own header (bug 105593)
  SHAKEDOWN_INLINE static T four_times(const std::uint8_t* half) {
    return _mm512_maskz_broadcast_i32x4(kAll, _mm_load_si128(reinterpret_cast<const __m128i*>(half)));
  }
  SHAKEDOWN_INLINE static Table table(const Factor& factor) {
    return {four_times(factor.low), four_times(factor.high)};
  }
  SHAKEDOWN_INLINE static Operand operand(T x) {
    const T mask = _mm512_set1_epi8(0x0f);
    return {_mm512_and_si512(x, mask), _mm512_and_si512(_mm512_maskz_srli_epi64(0xff, x, 4), mask)};
  }
  SHAKEDOWN_INLINE static T add_product(T sum, const Table& table, const Operand& x) {
    constexpr int kXorOfThree = 0x96;
    return _mm512_ternarylogic_epi64(sum, _mm512_shuffle_epi8(table.high, x.high),
                                     _mm512_shuffle_epi8(table.low, x.low), kXorOfThree);
  }
};

}  // namespace

extern const FieldLoops kFieldAvx512;
const FieldLoops kFieldAvx512 = {"avx512", combine<Avx512>};
}  // namespace shakedown::coding
