// The loops in AVX-512: 16 or 8 particles at a time. Places are loaded as quarters or halves of a vector and turned by
// seven shuffles: faster than gathers, which load each coordinate for itself.
#include <immintrin.h>

#include "loops.hpp"

namespace shakedown::lj {
namespace {

SHAKEDOWN_INLINE __m512i low(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi32(0xffff, a, b); }
SHAKEDOWN_INLINE __m512i high(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi32(0xffff, a, b); }
SHAKEDOWN_INLINE __m512i low64(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi64(0xff, a, b); }
SHAKEDOWN_INLINE __m512i high64(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi64(0xff, a, b); }

SHAKEDOWN_INLINE __m512 largest(__m512 a, __m512 b) { return _mm512_maskz_max_ps(0xffff, a, b); }

struct Single {
  using T = float;
  using V = __m512;
  using I = __m512i;
  using M = __mmask16;
  static constexpr std::size_t kLanes = 16;

  SHAKEDOWN_INLINE static __m512i quarters(const Place<T>* places, const Entry* entry) {
    // Two halves, each of a load and a load that fills a half with copies, joined by a blend: that keeps the ports free
    // which do multiply-adds, as four inserts into the whole vector would not.
    const auto part = [&](int k) { return reinterpret_cast<const __m128i*>(at(places, entry[k])); };
    const auto two = [&](int k, int l) {
      return _mm256_mask_blend_epi32(0xf0, _mm256_castsi128_si256(_mm_load_si128(part(k))),
                                     _mm256_broadcastsi128_si256(_mm_load_si128(part(l))));
    };
    return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(two(0, 4)), two(8, 12), 1);
  }
  SHAKEDOWN_INLINE static void turn(__m512i a, __m512i b, __m512i c, __m512i d, I& x, I& y, I& z) {
    const __m512i xy0 = low(a, b), xy1 = low(c, d);
    x = low64(xy0, xy1);
    y = high64(xy0, xy1);
    z = low64(high(a, b), high(c, d));
  }
  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    turn(quarters(places, entry), quarters(places, entry + 1), quarters(places, entry + 2), quarters(places, entry + 3),
         x, y, z);
  }
  SHAKEDOWN_INLINE static V delta(I a, I b) { return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_sub_epi32(a, b)); }
  SHAKEDOWN_INLINE static V set(T x) { return _mm512_set1_ps(x); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm512_add_ps(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm512_fnmadd_ps(a, b, c); }
  /// 14 bits and one Newton step: 2^-28.
  SHAKEDOWN_INLINE static V reciprocal(V a) {
    const V y = _mm512_maskz_rcp14_ps(0xffff, a);
    return fma(y, fnma(a, y, set(1)), y);
  }
  SHAKEDOWN_INLINE static M below(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  SHAKEDOWN_INLINE static V keep(M mask, V x) { return _mm512_maskz_mov_ps(mask, x); }
  SHAKEDOWN_INLINE static void store(T* to, V x) { _mm512_storeu_ps(to, x); }
  SHAKEDOWN_INLINE static double total(V x) {
    alignas(64) T lanes[kLanes];
    _mm512_store_ps(lanes, x);
    double sum = 0;
    for (const T lane : lanes) sum += static_cast<double>(lane);
    return sum;
  }
  SHAKEDOWN_INLINE static std::size_t count(M mask) {
    return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(mask)));
  }
};

struct Double {
  using T = double;
  using V = __m512d;
  using I = __m512i;
  using M = __mmask8;
  static constexpr std::size_t kLanes = 8;

  SHAKEDOWN_INLINE static __m512i halves(const Place<T>* places, const Entry* entry) {
    const auto part = [&](int k) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(at(places, entry[k]))); };
    return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(part(0)), part(2), 1);
  }
  SHAKEDOWN_INLINE static void gather(const Place<T>* places, const Entry* entry, I& x, I& y, I& z) {
    const __m512i a = halves(places, entry), b = halves(places, entry + 1);
    const __m512i c = halves(places, entry + 4), d = halves(places, entry + 5);
    const __m512i xz0 = low64(a, b), xz1 = low64(c, d);
    x = _mm512_maskz_shuffle_i64x2(0xff, xz0, xz1, 0x88);
    z = _mm512_maskz_shuffle_i64x2(0xff, xz0, xz1, 0xdd);
    y = _mm512_maskz_shuffle_i64x2(0xff, high64(a, b), high64(c, d), 0x88);
  }
  SHAKEDOWN_INLINE static V delta(I a, I b) { return _mm512_maskz_cvtepi64_pd(0xff, _mm512_sub_epi64(a, b)); }
  SHAKEDOWN_INLINE static V set(T x) { return _mm512_set1_pd(x); }
  SHAKEDOWN_INLINE static V add(V a, V b) { return _mm512_add_pd(a, b); }
  SHAKEDOWN_INLINE static V mul(V a, V b) { return _mm512_mul_pd(a, b); }
  SHAKEDOWN_INLINE static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  SHAKEDOWN_INLINE static V fnma(V a, V b, V c) { return _mm512_fnmadd_pd(a, b, c); }
  /// 14 bits, times (1 + e) (1 + e^2): 2^-56.
  SHAKEDOWN_INLINE static V reciprocal(V a) {
    const V y = _mm512_maskz_rcp14_pd(0xff, a);
    const V e = fnma(a, y, set(1));
    const V first = fma(y, e, y);
    return fma(first, mul(e, e), first);
  }
  SHAKEDOWN_INLINE static M below(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
  SHAKEDOWN_INLINE static V keep(M mask, V x) { return _mm512_maskz_mov_pd(mask, x); }
  SHAKEDOWN_INLINE static void store(T* to, V x) { _mm512_storeu_pd(to, x); }
  SHAKEDOWN_INLINE static double total(V x) {
    alignas(64) T lanes[kLanes];
    _mm512_store_pd(lanes, x);
    double sum = 0;
    for (const T lane : lanes) sum += lane;
    return sum;
  }
  SHAKEDOWN_INLINE static std::size_t count(M mask) {
    return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(mask)));
  }
};

/// Choosing neighbours: sixteen or eight candidates at a time, those within range packed together.
struct SingleLists : Scalar<float, 16> {
  static void collect(const Run<float>& run, const Middle<float>& middle, Candidates<float>& found) {
    using S = Single;
    const __m512i mx = _mm512_set1_epi32(middle.at.x), my = _mm512_set1_epi32(middle.at.y),
                  mz = _mm512_set1_epi32(middle.at.z);
    const __m512 unit = S::set(middle.unit), half = S::set(middle.half), zero = S::set(0),
                 range2 = S::set(middle.range2);
    // turn() puts place 4 k + g of sixteen in a row into lane 4 g + k; an entry is twice that.
    const __m512i order = _mm512_set_epi32(30, 22, 14, 6, 28, 20, 12, 4, 26, 18, 10, 2, 24, 16, 8, 0);
    const __m512i first = _mm512_set1_epi32(static_cast<int>(run.entry));
    std::size_t count = found.count;
    for (std::size_t i = 0; i < run.count; i += 16) {
      const auto* from = reinterpret_cast<const __m512i*>(run.first + i);  // at most 15 places beyond the last are read
      __m512i xi, yi, zi;
      S::turn(_mm512_loadu_si512(from), _mm512_loadu_si512(from + 1), _mm512_loadu_si512(from + 2),
              _mm512_loadu_si512(from + 3), xi, yi, zi);
      const __m512 x = S::mul(S::delta(xi, mx), unit), y = S::mul(S::delta(yi, my), unit),
                   z = S::mul(S::delta(zi, mz), unit);
      const auto beyond = [&](__m512 one) {
        return largest(_mm512_sub_ps(largest(one, _mm512_sub_ps(zero, one)), half), zero);
      };
      const __m512 dx = beyond(x), dy = beyond(y), dz = beyond(z);
      const __m512i place = _mm512_add_epi32(order, _mm512_set1_epi32(static_cast<int>(2 * i)));
      const __mmask16 there = _mm512_cmplt_epu32_mask(place, _mm512_set1_epi32(static_cast<int>(2 * run.count)));
      const __mmask16 in =
          _mm512_mask_cmp_ps_mask(there, S::fma(dz, dz, S::fma(dy, dy, S::mul(dx, dx))), range2, _CMP_LT_OQ);
      _mm512_storeu_ps(found.x + count, _mm512_maskz_compress_ps(in, x));
      _mm512_storeu_ps(found.y + count, _mm512_maskz_compress_ps(in, y));
      _mm512_storeu_ps(found.z + count, _mm512_maskz_compress_ps(in, z));
      _mm512_storeu_si512(found.entry + count, _mm512_maskz_compress_epi32(in, _mm512_add_epi32(first, place)));
      count += S::count(in);
    }
    found.count = count;
  }

  static std::size_t select(const Candidates<float>& from, float x, float y, float z, float range2,
                            std::uint32_t* out) {
    using S = Single;
    const __m512 xi = S::set(x), yi = S::set(y), zi = S::set(z), range = S::set(range2);
    std::size_t count = 0;
    for (std::size_t j = 0; j < from.count; j += 16) {
      const __m512 dx = _mm512_sub_ps(_mm512_loadu_ps(from.x + j), xi),
                   dy = _mm512_sub_ps(_mm512_loadu_ps(from.y + j), yi),
                   dz = _mm512_sub_ps(_mm512_loadu_ps(from.z + j), zi);
      const __m512 r2 = S::fma(dz, dz, S::fma(dy, dy, S::mul(dx, dx)));
      const __mmask16 in = _mm512_mask_cmp_ps_mask(S::below(r2, range), r2, S::set(0), _CMP_GT_OQ);
      _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi32(in, _mm512_loadu_si512(from.entry + j)));
      count += S::count(in);
    }
    return count;
  }

  static double move(const Motion& motion, const float* fx, const float* fy, const float* fz, double kick, double drift,
                     Place<float>* places) {
    const __m512d kicks = _mm512_set1_pd(kick), drifts = _mm512_set1_pd(drift);
    __m512d fastest = _mm512_setzero_pd();
    const __m256i zero = _mm256_setzero_si256();
    for (std::size_t i = 0; i < motion.count; i += 8) {
      const auto on = static_cast<__mmask8>(motion.count - i < 8 ? (1U << (motion.count - i)) - 1 : 0xff);
      const auto along = [&](double* v, std::int64_t* x, const float* f, __m512d& v2) {
        const __m512d force = _mm512_maskz_cvtps_pd(on, _mm256_loadu_ps(f + i));
        const __m512d speed = _mm512_fmadd_pd(kicks, force, _mm512_maskz_loadu_pd(on, v + i));
        const __m512i by = _mm512_maskz_cvttpd_epi64(0xff, _mm512_mul_pd(speed, drifts));
        const __m512i at = _mm512_add_epi64(_mm512_maskz_loadu_epi64(on, x + i), by);
        _mm512_mask_storeu_pd(v + i, on, speed);
        _mm512_mask_storeu_epi64(x + i, on, at);
        v2 = _mm512_fmadd_pd(speed, speed, v2);
        return _mm512_maskz_cvtepi64_epi32(0xff, _mm512_maskz_srli_epi64(0xff, at, 32));
      };
      __m512d v2 = _mm512_setzero_pd();
      const __m256i x = along(motion.vx, motion.x, fx, v2), y = along(motion.vy, motion.y, fy, v2),
                    z = along(motion.vz, motion.z, fz, v2);
      fastest = _mm512_maskz_max_pd(0xff, fastest, v2);
      const __m256i xy0 = _mm256_unpacklo_epi32(x, y), xy1 = _mm256_unpackhi_epi32(x, y);
      const __m256i z0 = _mm256_unpacklo_epi32(z, zero), z1 = _mm256_unpackhi_epi32(z, zero);
      const __m256i pairs[4] = {_mm256_unpacklo_epi64(xy0, z0), _mm256_unpackhi_epi64(xy0, z0),
                                _mm256_unpacklo_epi64(xy1, z1),
                                _mm256_unpackhi_epi64(xy1, z1)};  // of 0 and 4, 1 and 5...
      const auto put = [&](std::size_t k, __m128i place) {
        _mm_store_si128(reinterpret_cast<__m128i*>(places + motion.slot[i + k]), place);
      };
      if (on == 0xff) {
        for (std::size_t k = 0; k < 4; ++k) {
          put(k, _mm256_castsi256_si128(pairs[k]));
          put(k + 4, _mm256_extracti128_si256(pairs[k], 1));
        }
      } else {
        for (std::size_t k = 0; k < 8 && i + k < motion.count; ++k) {
          put(k, k < 4 ? _mm256_castsi256_si128(pairs[k]) : _mm256_extracti128_si256(pairs[k - 4], 1));
        }
      }
    }
    alignas(64) double lanes[8];
    _mm512_store_pd(lanes, fastest);
    return *std::max_element(lanes, lanes + 8);
  }

  /// Sixteen rows of sixteen lists at a time; what is beyond a list's end is replaced by its pad.
  static void transpose(const std::uint32_t* const* from, const std::uint32_t* lengths, const std::uint32_t* pad,
                        std::size_t rows, Entry* list) {
    for (std::size_t row = 0; row < rows; row += 16) {
      __m512i a[16], b[16];
      for (std::size_t lane = 0; lane < 16; ++lane) {
        const std::size_t left = lengths[lane] > row ? std::min<std::size_t>(lengths[lane] - row, 16) : 0;
        const auto on = static_cast<__mmask16>((1U << left) - 1);
        a[lane] = _mm512_mask_loadu_epi32(_mm512_set1_epi32(static_cast<int>(pad[lane])), on, from[lane] + row);
      }
      for (std::size_t k = 0; k < 16; k += 4) {  // within quarters, then quarters among themselves
        const __m512i ab = low(a[k], a[k + 1]), cd = low(a[k + 2], a[k + 3]);
        const __m512i ef = high(a[k], a[k + 1]), gh = high(a[k + 2], a[k + 3]);
        b[k] = low64(ab, cd), b[k + 1] = high64(ab, cd), b[k + 2] = low64(ef, gh), b[k + 3] = high64(ef, gh);
      }
      for (std::size_t k = 0; k < 4; ++k) {
        const __m512i s = quarters_of<0x88>(b[k], b[k + 4]), t = quarters_of<0x88>(b[k + 8], b[k + 12]);
        const __m512i u = quarters_of<0xdd>(b[k], b[k + 4]), v = quarters_of<0xdd>(b[k + 8], b[k + 12]);
        a[k] = quarters_of<0x88>(s, t), a[k + 8] = quarters_of<0xdd>(s, t);
        a[k + 4] = quarters_of<0x88>(u, v), a[k + 12] = quarters_of<0xdd>(u, v);
      }
      for (std::size_t k = 0; k < 16 && row + k < rows; ++k) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(list + (row + k) * 16),
                           _mm512_maskz_cvtepi32_epi16(0xffff, a[k]));
      }
    }
  }
  template <int kWhich>
  SHAKEDOWN_INLINE static __m512i quarters_of(__m512i a, __m512i b) {
    return _mm512_maskz_shuffle_i32x4(0xffff, a, b, kWhich);
  }
};

struct DoubleLists : Scalar<double, 8> {
  static std::size_t select(const Candidates<double>& from, double x, double y, double z, double range2,
                            std::uint32_t* out) {
    using S = Double;
    const __m512d xi = S::set(x), yi = S::set(y), zi = S::set(z), range = S::set(range2);
    std::size_t count = 0;
    for (std::size_t j = 0; j < from.count; j += 8) {
      const __m512d dx = _mm512_sub_pd(_mm512_loadu_pd(from.x + j), xi),
                    dy = _mm512_sub_pd(_mm512_loadu_pd(from.y + j), yi),
                    dz = _mm512_sub_pd(_mm512_loadu_pd(from.z + j), zi);
      const __m512d r2 = S::fma(dz, dz, S::fma(dy, dy, S::mul(dx, dx)));
      const __mmask8 in = _mm512_mask_cmp_pd_mask(S::below(r2, range), r2, S::set(0), _CMP_GT_OQ);
      const __m256i entry = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from.entry + j));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count), _mm256_maskz_compress_epi32(in, entry));
      count += S::count(in);
    }
    return count;
  }
};

}  // namespace

extern const Isa kAvx512;
const Isa kAvx512 = {"avx512", make_loops<Single, SingleLists>(), make_loops<Double, DoubleLists>()};
}  // namespace shakedown::lj
