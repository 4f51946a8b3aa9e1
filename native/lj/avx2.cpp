// The loops in AVX2 with FMA: 8 or 4 particles at a time.
#include <immintrin.h>

#include <array>

#include "loops.hpp"

namespace shakedown::lj {
namespace {

SHAKEDOWN_INLINE __m256i two(const void* first, const void* second) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_load_si128(static_cast<const __m128i*>(first))),
                                 _mm_load_si128(static_cast<const __m128i*>(second)), 1);
}

struct Single {
  using T = float;
  using V = __m256;
  using I = __m256i;
  using M = __m256;
  static constexpr std::size_t kLanes = 8;

  SHAKEDOWN_INLINE static void turn(__m256i a, __m256i b, __m256i c, __m256i d, I& x, I& y, I& z) {
    const __m256i xy0 = _mm256_unpacklo_epi32(a, b), xy1 = _mm256_unpacklo_epi32(c, d);
    x = _mm256_unpacklo_epi64(xy0, xy1);
    y = _mm256_unpackhi_epi64(xy0, xy1);
    z = _mm256_unpacklo_epi64(_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
  }
  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    const auto part = [&](int k) { return two(at(places, entry[k]), at(places, entry[k + 4])); };
    turn(part(0), part(1), part(2), part(3), x, y, z);
  }
  SHAKEDOWN_INLINE static V delta(I a, I b) { return _mm256_cvtepi32_ps(_mm256_sub_epi32(a, b)); }
  SHAKEDOWN_INLINE static V set(T x) { return _mm256_set1_ps(x); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm256_add_ps(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm256_fnmadd_ps(a, b, c); }
  /// 12 bits less a half (1.5 x 2^-12), times 1 + e + e^2: 2^-34.
  SHAKEDOWN_INLINE static V reciprocal(V a) {
    const V y = _mm256_rcp_ps(a);
    const V e = fnma(a, y, set(1));
    return fma(fma(e, e, e), y, y);
  }
  SHAKEDOWN_INLINE static M below(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  SHAKEDOWN_INLINE static V keep(M mask, V x) { return _mm256_and_ps(mask, x); }
  SHAKEDOWN_INLINE static void store(T* to, V x) { _mm256_storeu_ps(to, x); }
  SHAKEDOWN_INLINE static double total(V x) {
    alignas(32) T lanes[kLanes];
    _mm256_store_ps(lanes, x);
    double sum = 0;
    for (const T lane : lanes) sum += static_cast<double>(lane);
    return sum;
  }
  SHAKEDOWN_INLINE static std::size_t count(M mask) {
    return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(mask))));
  }
};

struct Double {
  using T = double;
  using V = __m256d;
  using I = __m256i;
  using M = __m256d;
  static constexpr std::size_t kLanes = 4;

  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    const auto part = [&](int k) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(at(places, entry[k]))); };
    const __m256i a = part(0), b = part(1), c = part(2), d = part(3);
    const __m256i xz0 = _mm256_unpacklo_epi64(a, b), xz1 = _mm256_unpacklo_epi64(c, d);
    x = _mm256_permute2x128_si256(xz0, xz1, 0x20);
    z = _mm256_permute2x128_si256(xz0, xz1, 0x31);
    y = _mm256_permute2x128_si256(_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d), 0x20);
  }
  /// AVX2 converts no 64-bit numbers: the upper half with its sign and the lower half without one, each as a double's
  /// mantissa beside a known exponent, put together by one rounding.
  SHAKEDOWN_INLINE static V delta(I a, I b) {
    const __m256i difference = _mm256_sub_epi64(a, b);
    const __m256i two84 = _mm256_castpd_si256(set(0x1p84 + 0x1p63)), two52 = _mm256_castpd_si256(set(0x1p52));
    const __m256i flipped = _mm256_xor_si256(_mm256_srli_epi64(difference, 32), two84);  // the sign bit is bit 31 here
    const V upper = _mm256_sub_pd(_mm256_castsi256_pd(flipped), set(0x1p84 + 0x1p63 + 0x1p52));
    return _mm256_add_pd(upper, _mm256_castsi256_pd(_mm256_blend_epi32(difference, two52, 0xaa)));
  }
  SHAKEDOWN_INLINE static V set(T x) { return _mm256_set1_pd(x); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm256_add_pd(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm256_mul_pd(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  SHAKEDOWN_INLINE static V reciprocal(V a) { return _mm256_div_pd(set(1), a); }
  SHAKEDOWN_INLINE static M below(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
  SHAKEDOWN_INLINE static V keep(M mask, V x) { return _mm256_and_pd(mask, x); }
  SHAKEDOWN_INLINE static void store(T* to, V x) { _mm256_storeu_pd(to, x); }
  SHAKEDOWN_INLINE static double total(V x) {
    alignas(32) T lanes[kLanes];
    _mm256_store_pd(lanes, x);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
  SHAKEDOWN_INLINE static std::size_t count(M mask) {
    return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(_mm256_movemask_pd(mask))));
  }
};

/// For each mask of eight lanes: which lanes are set, packed to the left.
struct Packing {
  std::array<std::array<std::uint32_t, 8>, 256> lanes{};
  constexpr Packing() {
    for (std::size_t mask = 0; mask < 256; ++mask) {
      std::size_t n = 0;
      for (std::uint32_t lane = 0; lane < 8; ++lane) {
        if (((mask >> lane) & 1U) != 0) lanes[mask][n++] = lane;
      }
    }
  }
};
alignas(64) constexpr Packing kPacking;

SHAKEDOWN_INLINE __m256i packing(unsigned mask) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(kPacking.lanes[mask].data()));
}

struct SingleLists : Scalar<float, 8> {
  static void collect(const Run<float>& run, const Middle<float>& middle, Candidates<float>& found) {
    using S = Single;
    const __m256i mx = _mm256_set1_epi32(middle.at.x), my = _mm256_set1_epi32(middle.at.y),
                  mz = _mm256_set1_epi32(middle.at.z);
    const __m256 unit = S::set(middle.unit), half = S::set(middle.half), zero = S::set(0),
                 range2 = S::set(middle.range2);
    const __m256 no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    const __m256i order = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);  // turn() of eight in a row, two to a vector
    std::size_t count = found.count;
    for (std::size_t i = 0; i < run.count; i += 8) {
      const auto* from = reinterpret_cast<const __m256i*>(run.first + i);  // at most 7 places beyond the last are read
      __m256i xi, yi, zi;
      S::turn(_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1), _mm256_loadu_si256(from + 2),
              _mm256_loadu_si256(from + 3), xi, yi, zi);
      const __m256 x = S::mul(S::delta(xi, mx), unit), y = S::mul(S::delta(yi, my), unit),
                   z = S::mul(S::delta(zi, mz), unit);
      const auto beyond = [&](__m256 one) {
        return _mm256_max_ps(_mm256_sub_ps(_mm256_and_ps(one, no_sign), half), zero);
      };
      const __m256 dx = beyond(x), dy = beyond(y), dz = beyond(z);
      const auto left = static_cast<int>(std::min<std::size_t>(run.count - i, 8));
      const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), order);
      const __m256 in = S::below(S::fma(dz, dz, S::fma(dy, dy, S::mul(dx, dx))), range2);
      const auto mask = static_cast<unsigned>(_mm256_movemask_ps(_mm256_and_ps(in, _mm256_castsi256_ps(there))));
      const __m256i pack = packing(mask);
      const __m256i entry =
          _mm256_add_epi32(_mm256_slli_epi32(order, 1), _mm256_set1_epi32(static_cast<int>(run.entry + 2 * i)));
      _mm256_storeu_ps(found.x + count, _mm256_permutevar8x32_ps(x, pack));
      _mm256_storeu_ps(found.y + count, _mm256_permutevar8x32_ps(y, pack));
      _mm256_storeu_ps(found.z + count, _mm256_permutevar8x32_ps(z, pack));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(found.entry + count), _mm256_permutevar8x32_epi32(entry, pack));
      count += static_cast<std::size_t>(__builtin_popcount(mask));
    }
    found.count = count;
  }

  static std::size_t select(const Candidates<float>& from, float x, float y, float z, float range2,
                            std::uint32_t* out) {
    using S = Single;
    const __m256 xi = S::set(x), yi = S::set(y), zi = S::set(z), range = S::set(range2), zero = S::set(0);
    std::size_t count = 0;
    for (std::size_t j = 0; j < from.count; j += 8) {
      const __m256 dx = _mm256_sub_ps(_mm256_loadu_ps(from.x + j), xi),
                   dy = _mm256_sub_ps(_mm256_loadu_ps(from.y + j), yi),
                   dz = _mm256_sub_ps(_mm256_loadu_ps(from.z + j), zi);
      const __m256 r2 = S::fma(dz, dz, S::fma(dy, dy, S::mul(dx, dx)));
      const auto mask = static_cast<unsigned>(
          _mm256_movemask_ps(_mm256_and_ps(S::below(r2, range), _mm256_cmp_ps(r2, zero, _CMP_GT_OQ))));
      const __m256i entry = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from.entry + j));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count), _mm256_permutevar8x32_epi32(entry, packing(mask)));
      count += static_cast<std::size_t>(__builtin_popcount(mask));
    }
    return count;
  }
};

}  // namespace

extern const Isa kAvx2;
const Isa kAvx2 = {"avx2", make_loops<Single, SingleLists>(), make_loops<Double>()};
}  // namespace shakedown::lj
