// The matrix of netlib HPL 2.3, bit for bit, from any element on.
#pragma once

#include <bit>
#include <cstdint>

#include "layout.hpp"

namespace shakedown::hpl {

/// x' = a x + c modulo 2^64; `after(k)` is k steps at once.
struct Steps {
  std::uint64_t a = 1;
  std::uint64_t c = 0;

  [[nodiscard]] std::uint64_t operator()(std::uint64_t x) const { return a * x + c; }
  /// First these steps, then those.
  [[nodiscard]] Steps then(const Steps& next) const { return {next.a * a, next.a * c + next.c}; }
  /// These steps `count` times, by repeated squaring.
  [[nodiscard]] Steps times(std::uint64_t count) const {
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
inline double entry_of(std::uint64_t x) {
  // (double)x by two halves whose sum rounds once: what hardware without AVX-512 has for unsigned integers, and loops
  // of it become vector code.
  const double high = std::bit_cast<double>((x >> 32) | 0x4530000000000000ULL);           // 2^84 + 2^32 * upper half
  const double low = std::bit_cast<double>((x & 0xffffffffULL) | 0x4330000000000000ULL);  // 2^52 + lower half
  const double value = (high - 0x1.00000001p84) + low;
  return 0.5 - value * 0x1p-64;
}

/// Entry (i, j) of [A b], N x (N+1): the elements are numbered down the columns, whatever the distribution.
inline double entry(Index n, Index i, Index j) {
  const auto number = static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n) + static_cast<std::uint64_t>(i);
  return entry_of(kStep.times(number)(kSeed));
}

/// Entries along a row, many at a time: eight columns go side by side.
class RowGenerator {
 public:
  explicit RowGenerator(Index n) : n_(n), column_(kStep.times(static_cast<std::uint64_t>(n))) {
    Steps steps;
    for (auto& lane : lanes_) {
      lane = steps;
      steps = steps.then(column_);
    }
    eight_ = steps;
  }

  /// The state that gives entry (i, j).
  [[nodiscard]] std::uint64_t state(Index i, Index j) const {
    const auto number = static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n_) + static_cast<std::uint64_t>(i);
    return kStep.times(number)(kSeed);
  }
  /// From the state of (i, j) to that of (i, j + columns).
  [[nodiscard]] Steps right(Index columns) const { return column_.times(static_cast<std::uint64_t>(columns)); }
  /// out[l] = entry (i, j + l) for l < count, from the state of (i, j).
  void fill(std::uint64_t state, Index count, double* out) const {
    std::uint64_t x[kLanes];
    for (int l = 0; l < kLanes; ++l) x[l] = lanes_[l](state);
    Index at = 0;
    for (; at + kLanes <= count; at += kLanes) {
      for (int l = 0; l < kLanes; ++l) out[at + l] = entry_of(x[l]);
      for (int l = 0; l < kLanes; ++l) x[l] = eight_(x[l]);
    }
    for (int l = 0; at + l < count; ++l) out[at + l] = entry_of(x[l]);
  }

 private:
  static constexpr int kLanes = 8;
  Index n_;
  Steps column_;
  Steps lanes_[kLanes];
  Steps eight_;
};

}  // namespace shakedown::hpl
