// The field in SSSE3: 16 products at a time of each half of a byte, looked up by a shuffle.
#include <immintrin.h>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Ssse3 {
  using T = __m128i;
  using Factor = Halves;
  struct Operand {
    T low, high;
  };
  struct Table {
    T low, high;
  };
  static constexpr std::size_t kBytes = 16;
  static constexpr int kRows = 4;
  SHAKEDOWN_INLINE static T load(const std::uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const T*>(at)); }
  SHAKEDOWN_INLINE static void store(std::uint8_t* at, T x) { _mm_storeu_si128(reinterpret_cast<T*>(at), x); }
  SHAKEDOWN_INLINE static T zero() { return _mm_setzero_si128(); }
  SHAKEDOWN_INLINE static const Factor& factor(std::uint8_t value) { return kFactorTables.halves[value]; }
  SHAKEDOWN_INLINE static Table table(const Factor& factor) {
    return {_mm_load_si128(reinterpret_cast<const T*>(factor.low)),
            _mm_load_si128(reinterpret_cast<const T*>(factor.high))};
  }
  SHAKEDOWN_INLINE static Operand operand(T x) {
    const T mask = _mm_set1_epi8(0x0f);
    return {_mm_and_si128(x, mask), _mm_and_si128(_mm_srli_epi64(x, 4), mask)};
  }
  SHAKEDOWN_INLINE static T add_product(T sum, const Table& table, const Operand& x) {
    const T high = _mm_xor_si128(sum, _mm_shuffle_epi8(table.high, x.high));
    return _mm_xor_si128(high, _mm_shuffle_epi8(table.low, x.low));
  }
};

}  // namespace

extern const FieldLoops kFieldSsse3;
const FieldLoops kFieldSsse3 = {"ssse3", combine<Ssse3>};
}  // namespace shakedown::coding
