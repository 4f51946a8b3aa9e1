// Small formats: every code comes back, the nearest is chosen, ties go to even.
#include <cmath>
#include <limits>
#include <string>

#include "formats.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::gpu;
using shakedown::Checks;

/// Every finite code widens to a number that narrows to the same code, and a number between two neighbours goes to the
/// nearer, or to the even one.
void whole_format(Checks& checks, SmallFormat format, std::uint32_t last_finite, const std::string& name) {
  const std::uint32_t sign = 1u << (format.exponent_bits + format.mantissa_bits);
  int kept = 0, rounded = 0;
  for (std::uint32_t code = 0; code <= last_finite; ++code) {
    const float value = widen(code, format);
    kept += narrow(value, format) == code && narrow(-value, format) == (code | sign) ? 1 : 0;
    if (code == last_finite) continue;
    const float next = widen(code + 1, format), middle = value + (next - value) / 2;
    const std::uint32_t even = code % 2 == 0 ? code : code + 1;
    const bool ties = narrow(middle, format) == even || middle < 0x1p-126f;
    const bool below = narrow(std::nextafter(middle, value), format) == code || middle < 0x1p-125f;
    const bool above = narrow(std::nextafter(middle, next), format) == code + 1 || middle < 0x1p-125f;
    rounded += ties && below && above ? 1 : 0;
  }
  // A float's own subnormals, which bfloat16 shares, are taken for zero.
  const int lost = format.exponent_bits == 8 ? (1 << format.mantissa_bits) - 1 : 0;
  checks.equal(kept, static_cast<int>(last_finite) + 1 - lost, name + ": codes that come back");
  checks.that(rounded >= static_cast<int>(last_finite) - lost, name + ": rounding to the nearest");
}

}  // namespace

int main() {
  Checks checks;
  whole_format(checks, kHalf, 0x7bff, "binary16");
  whole_format(checks, kBfloat, 0x7f7f, "bfloat16");
  whole_format(checks, kE4m3, 0x7e, "E4M3");
  checks.equal(widen(0x3c00, kHalf), 1.0f, "1 in binary16");
  checks.equal(widen(0x0001, kHalf), 0x1p-24f, "the least of binary16");
  checks.equal(widen(0x7bff, kHalf), 65504.0f, "the most of binary16");
  checks.equal(widen(0x3f80, kBfloat), 1.0f, "1 in bfloat16");
  checks.equal(widen(0x38, kE4m3), 1.0f, "1 in E4M3");
  checks.equal(widen(0x7e, kE4m3), 448.0f, "the most of E4M3");
  checks.equal(widen(0x01, kE4m3), 0x1p-9f, "the least of E4M3");
  checks.equal(narrow(1e6f, kE4m3), 0x7eu, "what is too large for E4M3 is its most");
  checks.that(std::isinf(widen(narrow(1e6f, kHalf), kHalf)), "what is too large for binary16 is infinite");
  checks.equal(to_tf32(1.0f + 0x1p-10f), 1.0f + 0x1p-10f, "ten bits stay");
  checks.equal(to_tf32(1.0f + 0x1p-11f), 1.0f, "a tie goes to even");
  checks.equal(to_tf32(1.0f + 0x1p-11f + 0x1p-20f), 1.0f + 0x1p-10f, "above it to the next");
  double sum = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) sum += uniform_double(random_bits(1, i));
  checks.that(std::abs(sum / 100000) < 0.003, "uniform numbers lie about 0: three deviations of their mean");
  checks.that(random_bits(1, 7) != random_bits(2, 7) && random_bits(1, 7) != random_bits(1, 8), "by seed and place");
  return checks.end();
}
