// The corners of the cells in which the points of many links lie: one read of the memory for each lane.
#pragma once

#include <cstdint>

#include "ground.hpp"
#include "parts.hpp"

namespace shakedown::radio {

template <class L>
struct Corners {
  L south_west, south_east;  // of the row of the index
  L rise_west, rise_east;    // from it to the next row
};

/// Which numbers stand for a height that is not known.
template <class T, class L>
SHAKEDOWN_LANES typename L::Truth is_hole(L number) {
  if constexpr (std::is_same_v<T, float>) {
    return !(number >= number);  // NOLINT(misc-redundant-expression): so is only NaN, of any lane
  } else {
    return number <= L(kNoHeight);
  }
}

namespace corners_detail {

/// As every compiler understands it.
template <class L, class T>
SHAKEDOWN_LANES Corners<L> one_by_one(const T* pairs, const std::int32_t* index) {
  Corners<L> corners;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    const T* const at = pairs + 2 * static_cast<long>(index[lane]);
    corners.south_west.set(lane, static_cast<typename L::Real>(at[0]));
    corners.south_east.set(lane, static_cast<typename L::Real>(at[2]));
    corners.rise_west.set(lane, static_cast<typename L::Real>(at[1]) - static_cast<typename L::Real>(at[0]));
    corners.rise_east.set(lane, static_cast<typename L::Real>(at[3]) - static_cast<typename L::Real>(at[2]));
  }
  return corners;
}

#if defined(__AVX2__)

/// 8 bytes from each of two places. Loads of their own: gathers are slower on Zen, and no faster elsewhere.
SHAKEDOWN_LANES __m128i two(const std::int16_t* pairs, std::int32_t first, std::int32_t second) {
  const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pairs + 2 * static_cast<long>(first)));
  return _mm_castpd_si128(
      _mm_loadh_pd(_mm_castsi128_pd(low), reinterpret_cast<const double*>(pairs + 2 * static_cast<long>(second))));
}
SHAKEDOWN_LANES __m256i four(const std::int16_t* pairs, std::int32_t a, std::int32_t b, std::int32_t c,
                             std::int32_t d) {
  return _mm256_set_m128i(two(pairs, c, d), two(pairs, a, b));
}
/// Of words of 32 bits, whose halves are numbers with a sign: the lower half, and how far the upper is above it.
SHAKEDOWN_LANES __m256i lower(__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi32(1)); }
SHAKEDOWN_LANES __m256i rise(__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi32(0x0001ffff)); }
SHAKEDOWN_LANES __m128i lower(__m128i words) { return _mm_madd_epi16(words, _mm_set1_epi32(1)); }
SHAKEDOWN_LANES __m128i rise(__m128i words) { return _mm_madd_epi16(words, _mm_set1_epi32(0x0001ffff)); }

SHAKEDOWN_LANES Corners<Lanes<float, 8>> eight(const std::int16_t* pairs, const std::int32_t* index) {
  // Lanes 0 1 4 5 and 2 3 6 7: a shuffle within halves of the register then puts them in order.
  const __m256 a = _mm256_castsi256_ps(four(pairs, index[0], index[1], index[4], index[5]));
  const __m256 b = _mm256_castsi256_ps(four(pairs, index[2], index[3], index[6], index[7]));
  const __m256i west = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
  const __m256i east = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
  Corners<Lanes<float, 8>> corners;
  corners.south_west.v = _mm256_cvtepi32_ps(lower(west));
  corners.south_east.v = _mm256_cvtepi32_ps(lower(east));
  corners.rise_west.v = _mm256_cvtepi32_ps(rise(west));
  corners.rise_east.v = _mm256_cvtepi32_ps(rise(east));
  return corners;
}

SHAKEDOWN_LANES Corners<Lanes<double, 4>> four_doubles(const std::int16_t* pairs, const std::int32_t* index) {
  const __m128 a = _mm_castsi128_ps(two(pairs, index[0], index[1]));
  const __m128 b = _mm_castsi128_ps(two(pairs, index[2], index[3]));
  const __m128i west = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88));
  const __m128i east = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd));
  Corners<Lanes<double, 4>> corners;
  corners.south_west.v = _mm256_cvtepi32_pd(lower(west));
  corners.south_east.v = _mm256_cvtepi32_pd(lower(east));
  corners.rise_west.v = _mm256_cvtepi32_pd(rise(west));
  corners.rise_east.v = _mm256_cvtepi32_pd(rise(east));
  return corners;
}

/// Four columns of four floats, from rows: the corners of lanes 0 to 3 and 4 to 7.
SHAKEDOWN_LANES Corners<Lanes<float, 8>> eight(const float* pairs, const std::int32_t* index) {
  const auto both = [&](int low, int high) {
    return _mm256_set_m128(_mm_loadu_ps(pairs + 2 * static_cast<long>(index[high])),
                           _mm_loadu_ps(pairs + 2 * static_cast<long>(index[low])));
  };
  const __m256 a = both(0, 4), b = both(1, 5), c = both(2, 6), d = both(3, 7);
  const __m256 ab_west = _mm256_unpacklo_ps(a, b), ab_east = _mm256_unpackhi_ps(a, b);
  const __m256 cd_west = _mm256_unpacklo_ps(c, d), cd_east = _mm256_unpackhi_ps(c, d);
  Corners<Lanes<float, 8>> corners;
  corners.south_west.v = _mm256_shuffle_ps(ab_west, cd_west, 0x44);
  corners.south_east.v = _mm256_shuffle_ps(ab_east, cd_east, 0x44);
  corners.rise_west.v = _mm256_shuffle_ps(ab_west, cd_west, 0xee) - corners.south_west.v;
  corners.rise_east.v = _mm256_shuffle_ps(ab_east, cd_east, 0xee) - corners.south_east.v;
  return corners;
}

#endif

#if defined(__AVX512F__)

SHAKEDOWN_LANES Corners<Lanes<float, 16>> sixteen(const std::int16_t* pairs, const std::int32_t* index) {
  const auto gathered = [&](const std::int32_t* from) {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), 0xff, at, pairs, 4);
  };
  const __m512i first = gathered(index), second = gathered(index + 8);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i west = _mm512_permutex2var_epi32(first, even, second);
  const __m512i east =
      _mm512_permutex2var_epi32(first, _mm512_maskz_add_epi32(0xffff, even, _mm512_set1_epi32(1)), second);
  const auto lower = [](__m512i words) {
    return _mm512_maskz_srai_epi32(0xffff, _mm512_maskz_slli_epi32(0xffff, words, 16), 16);
  };
  const auto number = [](__m512i words) { return _mm512_maskz_cvtepi32_ps(0xffff, words); };
  Corners<Lanes<float, 16>> corners;
  corners.south_west.v = number(lower(west));
  corners.south_east.v = number(lower(east));
  corners.rise_west.v = number(_mm512_maskz_srai_epi32(0xffff, west, 16)) - corners.south_west.v;
  corners.rise_east.v = number(_mm512_maskz_srai_epi32(0xffff, east, 16)) - corners.south_east.v;
  return corners;
}

SHAKEDOWN_LANES Corners<Lanes<double, 8>> eight_doubles(const std::int16_t* pairs, const std::int32_t* index) {
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
  const __m512i all = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), 0xff, at, pairs, 4);
  const auto number = [](__m512i words) {  // a word of 16 bits at the top of 64
    return _mm512_maskz_cvtepi64_pd(0xff, _mm512_maskz_srai_epi64(0xff, words, 48));
  };
  Corners<Lanes<double, 8>> corners;
  corners.south_west.v = number(_mm512_maskz_slli_epi64(0xff, all, 48));
  corners.south_east.v = number(_mm512_maskz_slli_epi64(0xff, all, 16));
  corners.rise_west.v = number(_mm512_maskz_slli_epi64(0xff, all, 32)) - corners.south_west.v;
  corners.rise_east.v = number(all) - corners.south_east.v;
  return corners;
}

#endif

}  // namespace corners_detail

/// The corners of the cells at index[lane].
template <class L, class T>
SHAKEDOWN_LANES Corners<L> corners_at(const T* pairs, const std::int32_t* index) {
  [[maybe_unused]] constexpr bool kWhole = std::is_same_v<T, std::int16_t>;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<L, Lanes<float, 16>> && kWhole) return corners_detail::sixteen(pairs, index);
  if constexpr (std::is_same_v<L, Lanes<double, 8>> && kWhole) return corners_detail::eight_doubles(pairs, index);
#endif
#if defined(__AVX2__)
  if constexpr (std::is_same_v<L, Lanes<float, 8>>) return corners_detail::eight(pairs, index);
  if constexpr (std::is_same_v<L, Lanes<double, 4>> && kWhole) return corners_detail::four_doubles(pairs, index);
#endif
  return corners_detail::one_by_one<L>(pairs, index);
}

}  // namespace shakedown::radio
