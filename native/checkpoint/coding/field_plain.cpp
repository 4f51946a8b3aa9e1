// The field in plain C++: eight bytes in a word, one bit of the factor after the other.
#include <cstring>

#include "field_loops.hpp"

namespace shakedown::coding {
namespace {

struct Words {
  using T = std::uint64_t;
  /// All ones for each bit of the factor that is set.
  struct Factor {
    T bits[8];
  };
  using Table = const Factor&;
  /// The word times x^0 to x^7, which every row shares.
  struct Operand {
    T powers[8];
  };
  static constexpr std::size_t kBytes = sizeof(T);
  static constexpr int kRows = 4;
  static T load(const std::uint8_t* at) {
    T x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  static void store(std::uint8_t* at, T x) { std::memcpy(at, &x, sizeof x); }
  static T zero() { return 0; }
  static Factor factor(std::uint8_t value) {
    Factor out{};
    for (unsigned bit = 0; bit < 8; ++bit) out.bits[bit] = ((value >> bit) & 1U) != 0 ? ~T{0} : 0;
    return out;
  }
  static Table table(const Factor& factor) { return factor; }
  static Operand operand(T x) {
    constexpr T kOnes = ~T{0} / 0xff;  // one in each byte
    Operand out{};
    for (auto& power : out.powers) {
      power = x;
      const T high = (x >> 7U) & kOnes;
      x = ((x & (kOnes * 0x7f)) << 1U) ^ high * (kFieldPolynomial & 0xffU);
    }
    return out;
  }
  static T add_product(T sum, const Factor& factor, const Operand& x) {
    for (int bit = 0; bit < 8; ++bit) sum ^= factor.bits[bit] & x.powers[bit];
    return sum;
  }
};

}  // namespace

extern const FieldLoops kFieldPlain;
const FieldLoops kFieldPlain = {"plain", combine<Words>};

namespace {

constexpr FactorTables factor_tables() {
  FactorTables out{};
  for (unsigned factor = 0; factor < 256; ++factor) {
    out.halves[factor] = halves_of(static_cast<std::uint8_t>(factor));
    out.matrices[factor] = matrix_of(static_cast<std::uint8_t>(factor));
  }
  return out;
}

}  // namespace

constinit const FactorTables kFactorTables = factor_tables();
}  // namespace shakedown::coding
