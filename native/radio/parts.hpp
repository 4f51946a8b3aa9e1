// Lanes in single precision and what decides in double: one register of the first is two of the second, its parts.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace shakedown::radio {

/// Numbers in double precision, in which horizons, ranges and places are decided whatever the lanes are.
template <class L>
using Deciding = Lanes<double, sizeof(typename L::Real) == 8 || L::kWidth == 1 ? L::kWidth : L::kWidth / 2>;

template <class L>
constexpr int kParts = L::kWidth / Deciding<L>::kWidth;

/// Lanes from their parts, rounded to their precision.
template <class L>
SHAKEDOWN_LANES L join(const Deciding<L> (&parts)[kParts<L>]) {
  if constexpr (std::is_same_v<L, Deciding<L>>) {
    return parts[0];
  } else {
#if defined(__AVX512F__)
    if constexpr (L::kWidth == 16) {
      return L(_mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(_mm512_maskz_cvtpd_ps(0xff, parts[0].v)),
                                        _mm512_maskz_cvtpd_ps(0xff, parts[1].v), 1));
    }
#elif defined(__AVX2__)
    if constexpr (L::kWidth == 8) {
      return L(_mm256_set_m128(_mm256_cvtpd_ps(parts[1].v), _mm256_cvtpd_ps(parts[0].v)));
    }
#endif
    L whole;
    for (int lane = 0; lane < L::kWidth; ++lane) {
      constexpr int kPart = Deciding<L>::kWidth;
      whole.set(lane, static_cast<typename L::Real>(parts[lane / kPart][lane % kPart]));
    }
    return whole;
  }
}

/// The lanes of a part, of numbers one behind the other.
template <class L>
SHAKEDOWN_LANES Deciding<L> load_part(const typename L::Real* numbers, int part) {
  using D = Deciding<L>;
  if constexpr (std::is_same_v<L, D>) {
    return D::load(numbers);
  } else {
    typedef float Narrow __attribute__((vector_size(sizeof(float) * D::kWidth)));
    Narrow narrow;
    __builtin_memcpy(&narrow, numbers + part * D::kWidth, sizeof narrow);
    return D(__builtin_convertvector(narrow, typename D::Values));
  }
}
template <class L>
SHAKEDOWN_LANES Deciding<L> part_of(L whole, int part) {
  typename L::Real numbers[L::kWidth];
  whole.store(numbers);
  return load_part<L>(numbers, part);
}

/// Where `parts` hold: the same in each lane.
template <class L>
SHAKEDOWN_LANES typename L::Truth join_truths(const typename Deciding<L>::Truth (&parts)[kParts<L>]) {
  if constexpr (std::is_same_v<L, Deciding<L>>) {
    return parts[0];
  } else {
    Deciding<L> ones[kParts<L>];
    for (int part = 0; part < kParts<L>; ++part) ones[part] = select(parts[part], Deciding<L>(1), Deciding<L>(0));
    return join<L>(ones) > L(0);
  }
}

/// Numbers of 0 and more without their fractions.
template <class L>
SHAKEDOWN_LANES typename L::Index truncated(L x) {
  return __builtin_convertvector(x.v, typename L::Index);
}
template <class L>
SHAKEDOWN_LANES L of_index(typename L::Index index) {
  return L(__builtin_convertvector(index, typename L::Values));
}
/// Indices from whole numbers below 2^31.
template <class L>
SHAKEDOWN_LANES typename L::Index index_of(const Deciding<L> (&parts)[kParts<L>]) {
  using D = Deciding<L>;
  typename L::Index index;
  for (int part = 0; part < kParts<L>; ++part) {
    const auto some = truncated(parts[part]);
    __builtin_memcpy(reinterpret_cast<char*>(&index) + static_cast<long>(part) * static_cast<long>(sizeof some), &some,
                     sizeof some);
  }
  static_assert(sizeof index == sizeof(std::int32_t) * D::kWidth * kParts<L>);
  return index;
}

}  // namespace shakedown::radio
