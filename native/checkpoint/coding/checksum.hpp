// CRC-32C as arithmetic: polynomials over GF(2) modulo the Castagnoli polynomial, in the checksum's order of bits (the
// coefficient of x^0 is the highest bit). Multiplying the register by x^(8 n) is what n bytes of zeros do to it.
#pragma once

#include <cstdint>

namespace shakedown::coding {

inline constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // 0x1edc6f41 in that order

/// a x b modulo the polynomial.
constexpr std::uint32_t checksum_product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (int bit = 31; bit >= 0; --bit) {
    if (((a >> static_cast<unsigned>(bit)) & 1U) != 0) sum ^= b;
    b = (b >> 1U) ^ ((b & 1U) != 0 ? kCastagnoli : 0U);  // b times x
  }
  return sum;
}

/// x^n modulo the polynomial.
constexpr std::uint32_t checksum_power(std::uint64_t n) {
  std::uint32_t product = 0x80000000U, square = 0x40000000U;  // 1 and x
  for (; n != 0; n >>= 1U) {
    if ((n & 1U) != 0) product = checksum_product(product, square);
    square = checksum_product(square, square);
  }
  return product;
}

}  // namespace shakedown::coding
