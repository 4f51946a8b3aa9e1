// Netlib HPL 2.3's random numbers, from any one on. Kernels of GPUs include it too, so it is C++17 for their compiler.
#pragma once

#include <cstdint>

#ifndef __CUDACC__
#include <bit>
#endif

#include "layout.hpp"

namespace shakedown::hpl {

/// x' = a x + c modulo 2^64; `times(k)` is k of them at once.
struct Steps {
  std::uint64_t a = 1;
  std::uint64_t c = 0;

  [[nodiscard]] HPL_BOTH std::uint64_t operator()(std::uint64_t x) const { return a * x + c; }
  /// First these steps, then those.
  [[nodiscard]] HPL_BOTH Steps then(const Steps& next) const { return {next.a * a, next.a * c + next.c}; }
  /// These steps `count` times, by repeated squaring.
  [[nodiscard]] HPL_BOTH Steps times(std::uint64_t count) const {
    Steps result;
    for (Steps power = *this; count != 0; count >>= 1, power = power.then(power)) {
      if ((count & 1) != 0) result = result.then(power);
    }
    return result;
  }
};

/// One step of netlib's generator (HPL_matgen.h: the multiplier's halves are 1481765933 and 1284865837, the addend 1).
inline constexpr Steps kStep{6364136223846793005ULL, 1};
inline constexpr std::uint64_t kSeed = 100;

/// The entry that a state gives: 0.5 - x / 2^64, in (-0.5, 0.5]. The conversion rounds once, as netlib's does.
HPL_BOTH inline double entry_of(std::uint64_t x) {
#ifdef __CUDACC__
  return 0.5 - static_cast<double>(x) * 0x1p-64;  // exact but for the conversion and the difference, also when fused
#else
  // (double)x by two halves whose sum rounds once: what hardware without AVX-512 has for unsigned integers, and loops
  // of it become vector code.
  const double high = std::bit_cast<double>((x >> 32) | 0x4530000000000000ULL);           // 2^84 + 2^32 * upper half
  const double low = std::bit_cast<double>((x & 0xffffffffULL) | 0x4330000000000000ULL);  // 2^52 + lower half
  const double value = (high - 0x1.00000001p84) + low;
  return 0.5 - value * 0x1p-64;
#endif
}

}  // namespace shakedown::hpl
