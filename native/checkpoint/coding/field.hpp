// The field GF(2^8): its arithmetic a byte at a time, and the tables that the loops read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coding.hpp"

namespace shakedown::coding {

/// The product by its definition: polynomials over GF(2), modulo kFieldPolynomial.
constexpr std::uint8_t field_product(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (; b != 0; b >>= 1U) {
    if ((b & 1U) != 0) sum ^= a;
    a <<= 1U;
    if ((a & 0x100U) != 0) a ^= kFieldPolynomial;
  }
  return static_cast<std::uint8_t>(sum);
}

/// 1 / a = a^254, as a^255 = 1; 0 of 0, which has none.
constexpr std::uint8_t field_inverse(std::uint8_t a) {
  unsigned power = a, product = 1;
  for (int bit = 1; bit < 8; ++bit) {  // 254 = 2 + 4 + ... + 128
    power = field_product(power, power);
    product = field_product(product, power);
  }
  return static_cast<std::uint8_t>(product);
}

/// A factor for loops that look up 16 bytes at once: its products with the low halves of a byte, then with the high
/// ones.
struct alignas(32) Halves {
  std::uint8_t low[16], high[16];
};

/// A factor as the matrix of bits that GFNI's affine instruction takes: byte 7 - i has the bits of the operand that
/// make up bit i of the product.
using BitMatrix = std::uint64_t;

constexpr Halves halves_of(std::uint8_t factor) {
  Halves out{};
  for (unsigned i = 0; i < 16; ++i) {
    out.low[i] = field_product(factor, i);
    out.high[i] = field_product(factor, i << 4U);
  }
  return out;
}

constexpr BitMatrix matrix_of(std::uint8_t factor) {
  BitMatrix out = 0;
  for (unsigned from = 0; from < 8; ++from) {
    const unsigned image = field_product(factor, 1U << from);
    for (unsigned to = 0; to < 8; ++to) {
      if (((image >> to) & 1U) != 0) out |= BitMatrix{1} << (8 * (7 - to) + from);
    }
  }
  return out;
}

/// Both of every factor; made by the compiler.
struct FactorTables {
  Halves halves[256];
  BitMatrix matrices[256];
};
extern const FactorTables kFactorTables;

}  // namespace shakedown::coding
