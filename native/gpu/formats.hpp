// Numbers of few bits, and the entries of the matrices that we multiply: the same on the device and on the host, bit by
// bit, since only integers are used. Included by kernels too, so it stays plain C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SHAKEDOWN_BOTH __host__ __device__ inline
#else
#define SHAKEDOWN_BOTH inline
#endif

namespace shakedown::gpu {

/// A binary format: IEEE 754 binary16 is {5, 10}, bfloat16 {8, 7}, E4M3 {4, 3} with its largest code 0x7e (448) and no
/// infinity (OCP 8-bit floating point, 2023).
struct SmallFormat {
  int exponent_bits, mantissa_bits;
  std::uint32_t largest;  // the code that what is too large becomes
};
constexpr SmallFormat kHalf{5, 10, 0x7c00}, kBfloat{8, 7, 0x7f80}, kE4m3{4, 3, 0x7e};

SHAKEDOWN_BOTH std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
SHAKEDOWN_BOTH float float_of(std::uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// The nearest number of the format, ties to even, as its code. NaN is not kept.
SHAKEDOWN_BOTH std::uint32_t narrow(float x, SmallFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1, mantissa = format.mantissa_bits;
  const std::uint32_t magnitude = bits_of(x) & 0x7fffffffu;
  const std::uint32_t sign = (bits_of(x) >> 31) << (format.exponent_bits + mantissa);
  if (magnitude < 0x00800000u) return sign;  // zero, and what is below every number of these formats but bfloat16's
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const bool small = exponent < 1 - bias;
  const int shift = 23 - mantissa + (small ? 1 - bias - exponent : 0);
  if (shift > 24) return sign;
  const std::uint32_t whole = (magnitude & 0x007fffffu) | 0x00800000u;
  const std::uint32_t rest = whole & ((1u << shift) - 1), half = 1u << (shift - 1);
  std::uint32_t kept = whole >> shift;
  if (rest > half || (rest == half && (kept & 1u) != 0)) ++kept;
  // The leading bit of `kept` adds one to the exponent; so does a carry out of the mantissa.
  const std::uint32_t code = small ? kept : (static_cast<std::uint32_t>(exponent + bias - 1) << mantissa) + kept;
  return sign | (code > format.largest ? format.largest : code);
}

/// The number that a code stands for.
SHAKEDOWN_BOTH float widen(std::uint32_t code, SmallFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1, mantissa = format.mantissa_bits;
  const std::uint32_t sign = (code >> (format.exponent_bits + mantissa)) << 31;
  const std::uint32_t fraction = code & ((1u << mantissa) - 1);
  const int exponent = static_cast<int>(code >> mantissa) & ((1 << format.exponent_bits) - 1);
  if (format.exponent_bits == 8) {  // a float without its last bits
    return float_of(sign | static_cast<std::uint32_t>(exponent) << 23 | fraction << (23 - mantissa));
  }
  if (exponent == 0) {  // subnormal: fraction times a power of two, both exact
    const float unit = float_of(static_cast<std::uint32_t>(128 - bias - mantissa) << 23);
    return float_of(sign | bits_of(static_cast<float>(fraction) * unit));
  }
  const bool infinite =
      format.largest == ((1u << format.exponent_bits) - 1) << mantissa && exponent == (1 << format.exponent_bits) - 1;
  const auto raised = static_cast<std::uint32_t>(infinite ? 255 : exponent - bias + 127);
  return float_of(sign | raised << 23 | fraction << (23 - mantissa));
}

/// The nearest number with 10 bits after the point (TF32), ties to even, kept as a float.
SHAKEDOWN_BOTH float to_tf32(float x) {
  const std::uint32_t bits = bits_of(x);
  return float_of((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

/// 64 random bits of a place: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) over a Weyl sequence.
SHAKEDOWN_BOTH std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = (place + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Uniform in [-0.5, 0.5): 53 bits, and 24 bits.
SHAKEDOWN_BOTH double uniform_double(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53 - 0.5; }
SHAKEDOWN_BOTH float uniform_float(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f - 0.5f; }

}  // namespace shakedown::gpu
