// The field in NEON: 16 products of each half of a byte, looked up by TBL.
#include <arm_neon.h>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Neon {
  using T = uint8x16_t;
  using Factor = Halves;
  struct Operand {
    T low, high;
  };
  struct Table {
    T low, high;
  };
  static constexpr std::size_t kBytes = 16;
  static constexpr int kRows = 4;
  SHAKEDOWN_INLINE static T load(const std::uint8_t* at) { return vld1q_u8(at); }
  SHAKEDOWN_INLINE static void store(std::uint8_t* at, T x) { vst1q_u8(at, x); }
  SHAKEDOWN_INLINE static T zero() { return vdupq_n_u8(0); }
  SHAKEDOWN_INLINE static const Factor& factor(std::uint8_t value) { return kFactorTables.halves[value]; }
  SHAKEDOWN_INLINE static Table table(const Factor& factor) { return {vld1q_u8(factor.low), vld1q_u8(factor.high)}; }
  SHAKEDOWN_INLINE static Operand operand(T x) { return {vandq_u8(x, vdupq_n_u8(0x0f)), vshrq_n_u8(x, 4)}; }
  SHAKEDOWN_INLINE static T add_product(T sum, const Table& table, const Operand& x) {
    return veorq_u8(veorq_u8(sum, vqtbl1q_u8(table.high, x.high)), vqtbl1q_u8(table.low, x.low));
  }
};

}  // namespace

extern const FieldLoops kFieldNeon;
const FieldLoops kFieldNeon = {"neon", combine<Neon>};
}  // namespace shakedown::coding
