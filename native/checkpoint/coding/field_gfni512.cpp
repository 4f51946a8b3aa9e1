// The field in GFNI with AVX-512: a factor is a matrix of bits, and one instruction multiplies 64 bytes by it, whatever
// the polynomial.
#include <immintrin.h>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Gfni512 {
  using T = __m512i;
  using Factor = BitMatrix;
  using Operand = T;
  using Table = T;
  static constexpr std::size_t kBytes = 64;
  static constexpr int kRows = 8;
  SHAKEDOWN_INLINE static T load(const std::uint8_t* at) { return _mm512_loadu_si512(at); }
  SHAKEDOWN_INLINE static void store(std::uint8_t* at, T x) { _mm512_storeu_si512(at, x); }
  SHAKEDOWN_INLINE static T zero() { return _mm512_setzero_si512(); }
  SHAKEDOWN_INLINE static Factor factor(std::uint8_t value) { return kFactorTables.matrices[value]; }
  SHAKEDOWN_INLINE static Table table(Factor factor) { return _mm512_set1_epi64(static_cast<long long>(factor)); }
  SHAKEDOWN_INLINE static Operand operand(T x) { return x; }
  SHAKEDOWN_INLINE static T add_product(T sum, Table table, Operand x) {
    return _mm512_xor_si512(sum, _mm512_gf2p8affine_epi64_epi8(x, table, 0));
  }
};

}  // namespace

extern const FieldLoops kFieldGfni512;
const FieldLoops kFieldGfni512 = {"gfni_avx512", combine<Gfni512>};
}  // namespace shakedown::coding
