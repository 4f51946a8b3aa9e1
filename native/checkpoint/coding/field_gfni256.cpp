// The field in GFNI with AVX2: a factor is a matrix of bits, and one instruction multiplies 32 bytes by it, whatever
// the polynomial.
#include <immintrin.h>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Gfni256 {
  using T = __m256i;
  using Factor = BitMatrix;
  using Operand = T;
  using Table = T;
  static constexpr std::size_t kBytes = 32;
  static constexpr int kRows = 4;
  SHAKEDOWN_INLINE static T load(const std::uint8_t* at) { return _mm256_loadu_si256(reinterpret_cast<const T*>(at)); }
  SHAKEDOWN_INLINE static void store(std::uint8_t* at, T x) { _mm256_storeu_si256(reinterpret_cast<T*>(at), x); }
  SHAKEDOWN_INLINE static T zero() { return _mm256_setzero_si256(); }
  SHAKEDOWN_INLINE static Factor factor(std::uint8_t value) { return kFactorTables.matrices[value]; }
  SHAKEDOWN_INLINE static Table table(Factor factor) { return _mm256_set1_epi64x(static_cast<long long>(factor)); }
  SHAKEDOWN_INLINE static Operand operand(T x) { return x; }
  SHAKEDOWN_INLINE static T add_product(T sum, Table table, Operand x) {
    return _mm256_xor_si256(sum, _mm256_gf2p8affine_epi64_epi8(x, table, 0));
  }
};

}  // namespace

extern const FieldLoops kFieldGfni256;
const FieldLoops kFieldGfni256 = {"gfni_avx2", combine<Gfni256>};
}  // namespace shakedown::coding
