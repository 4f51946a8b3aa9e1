// Several links side by side: the lanes of a vector register, with the few functions that a propagation model needs.
// The same source is compiled for every instruction set and width; one lane is the plain form.
//
// Built on the compilers' vector types (GCC, Clang). The functions are within 4 units in the last place of the C
// library's on the ranges that they name (itm_test.cpp), and set no errno. In single precision they are within 4 of its
// units.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace shakedown::radio {

namespace lanes_detail {

/// What the functions below must know of a kind of number.
template <class Real>
struct Format;
template <>
struct Format<double> {
  using Int = std::int64_t;
  static constexpr int kMantissa = 52;
  static constexpr double kRound = 0x1.8p52;  // added and taken away: the nearest whole number
  static constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;  // high ends in zeros
  static constexpr double kHalfPiHigh = 1.57079632679489655800, kHalfPiLow = 6.12323399573676603587e-17;
  static constexpr Int kRootHalf = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2)
  static constexpr double kExpLeast = -708, kExpMost = 709;
};
template <>
struct Format<float> {
  using Int = std::int32_t;
  static constexpr int kMantissa = 23;
  static constexpr double kRound = 0x1.8p23;
  static constexpr double kLn2High = 0x1.62e4p-1, kLn2Low = 0x1.7f7d1cp-20;
  static constexpr double kHalfPiHigh = 0x1.921fb6p0, kHalfPiLow = -0x1.777a5cp-25;
  static constexpr Int kRootHalf = 0x3f3504f3;
  static constexpr double kExpLeast = -87, kExpMost = 88;
};

}  // namespace lanes_detail

/// What a comparison of lanes gives: all bits or none in each.
template <class Real, int kWidth>
struct Mask {
  using Int = typename lanes_detail::Format<Real>::Int;
  typedef Int Bits __attribute__((vector_size(sizeof(Real) * kWidth)));
  Bits bits;

  friend SHAKEDOWN_LANES Mask operator&(Mask a, Mask b) { return {a.bits & b.bits}; }
  friend SHAKEDOWN_LANES Mask operator|(Mask a, Mask b) { return {a.bits | b.bits}; }
  friend SHAKEDOWN_LANES Mask operator!(Mask a) { return {~a.bits}; }
  [[nodiscard]] SHAKEDOWN_LANES bool any() const {
#if defined(__AVX512F__)
    if constexpr (sizeof bits == 64)
      return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(bits), reinterpret_cast<__m512i>(bits)) != 0;
#elif defined(__AVX2__)
    if constexpr (sizeof bits == 32)
      return _mm256_testz_si256(reinterpret_cast<__m256i>(bits), reinterpret_cast<__m256i>(bits)) == 0;
#endif
    Int found = 0;
    for (int lane = 0; lane < kWidth; ++lane) found |= bits[lane];
    return found != 0;
  }
};

template <class R, int kLanes>
struct Lanes {
  using Real = R;
  static constexpr int kWidth = kLanes;
  using Truth = Mask<Real, kLanes>;
  using Int = typename Truth::Int;
  using Bits = typename Truth::Bits;
  typedef Real Values __attribute__((vector_size(sizeof(Real) * kLanes)));
  typedef std::int32_t Index __attribute__((vector_size(sizeof(std::int32_t) * kLanes)));  // of a table
  Values v;

  Lanes() = default;
  SHAKEDOWN_LANES explicit Lanes(Values values) : v(values) {}
  SHAKEDOWN_LANES Lanes(double same)
      : v(static_cast<Real>(same) - Values{}) {}  // NOLINT: a number is one in every lane

  SHAKEDOWN_LANES static Lanes load(const Real* from) {
    Lanes read;
    __builtin_memcpy(&read.v, from, sizeof read.v);
    return read;
  }
  SHAKEDOWN_LANES void store(Real* to) const { __builtin_memcpy(to, &v, sizeof v); }
  SHAKEDOWN_LANES Real operator[](int lane) const { return v[lane]; }
  SHAKEDOWN_LANES void set(int lane, Real value) { v[lane] = value; }

  friend SHAKEDOWN_LANES Lanes operator+(Lanes a, Lanes b) { return Lanes(a.v + b.v); }
  friend SHAKEDOWN_LANES Lanes operator-(Lanes a, Lanes b) { return Lanes(a.v - b.v); }
  friend SHAKEDOWN_LANES Lanes operator*(Lanes a, Lanes b) { return Lanes(a.v * b.v); }
  friend SHAKEDOWN_LANES Lanes operator/(Lanes a, Lanes b) { return Lanes(a.v / b.v); }
  friend SHAKEDOWN_LANES Lanes operator-(Lanes a) { return Lanes(-a.v); }
  SHAKEDOWN_LANES Lanes& operator+=(Lanes b) { return *this = *this + b; }
  SHAKEDOWN_LANES Lanes& operator-=(Lanes b) { return *this = *this - b; }
  SHAKEDOWN_LANES Lanes& operator*=(Lanes b) { return *this = *this * b; }
  friend SHAKEDOWN_LANES Truth operator<(Lanes a, Lanes b) { return {a.v < b.v}; }
  friend SHAKEDOWN_LANES Truth operator>(Lanes a, Lanes b) { return {a.v > b.v}; }
  friend SHAKEDOWN_LANES Truth operator<=(Lanes a, Lanes b) { return {a.v <= b.v}; }
  friend SHAKEDOWN_LANES Truth operator>=(Lanes a, Lanes b) { return {a.v >= b.v}; }
};

/// 0, 1, 2...: the number of each lane.
template <class L>
SHAKEDOWN_LANES typename L::Bits lane_numbers() {
  typename L::Bits numbers;
  for (int lane = 0; lane < L::kWidth; ++lane) numbers[lane] = lane;
  return numbers;
}

/// `a` where the mask holds, else `b`.
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> select(Mask<R, W> mask, Lanes<R, W> a, Lanes<R, W> b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (sizeof a.v == 32 && sizeof(R) == 8) return Lanes<R, W>(_mm256_blendv_pd(b.v, a.v, (__m256d)mask.bits));
  if constexpr (sizeof a.v == 32 && sizeof(R) == 4) return Lanes<R, W>(_mm256_blendv_ps(b.v, a.v, (__m256)mask.bits));
#endif
  return Lanes<R, W>(mask.bits ? a.v : b.v);
}

/// As `x > y ? x : y`: where x is not a number the result is y, as in the reference's own comparison.
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> larger(Lanes<R, W> x, Lanes<R, W> y) {
#if defined(__AVX2__)
  if constexpr (sizeof x.v == 32 && sizeof(R) == 8) return Lanes<R, W>(_mm256_max_pd(x.v, y.v));
  if constexpr (sizeof x.v == 32 && sizeof(R) == 4) return Lanes<R, W>(_mm256_max_ps(x.v, y.v));
#endif
  return select(x > y, x, y);
}
/// As `x < y ? x : y`.
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> smaller(Lanes<R, W> x, Lanes<R, W> y) {
#if defined(__AVX2__)
  if constexpr (sizeof x.v == 32 && sizeof(R) == 8) return Lanes<R, W>(_mm256_min_pd(x.v, y.v));
  if constexpr (sizeof x.v == 32 && sizeof(R) == 4) return Lanes<R, W>(_mm256_min_ps(x.v, y.v));
#endif
  return select(x < y, x, y);
}

template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> sqrt(Lanes<R, W> x) {
#if defined(__AVX2__)
  if constexpr (sizeof x.v == 32 && sizeof(R) == 8) return Lanes<R, W>(_mm256_sqrt_pd(x.v));
  if constexpr (sizeof x.v == 32 && sizeof(R) == 4) return Lanes<R, W>(_mm256_sqrt_ps(x.v));
#endif
  R values[W];
  x.store(values);
  for (int lane = 0; lane < W; ++lane) {
    if constexpr (sizeof(R) == 4) {
      values[lane] = __builtin_sqrtf(values[lane]);
    } else {
      values[lane] = __builtin_sqrt(values[lane]);
    }
  }
  return Lanes<R, W>::load(values);
}

namespace lanes_detail {

/// c[0] + c[1] x + ... by Horner's rule; single precision sees the first `kSingle` terms.
template <int kSingle, class L, int kCount>
SHAKEDOWN_LANES L polynomial(const double (&c)[kCount], L x) {
  constexpr int kTerms = sizeof(typename L::Real) == 4 ? kSingle : kCount;
  L sum = c[kTerms - 1];
  for (int at = kTerms - 2; at >= 0; --at) sum = sum * x + L(c[at]);
  return sum;
}

template <class R, int W>
SHAKEDOWN_LANES typename Lanes<R, W>::Bits bits_of(Lanes<R, W> x) {
  typename Lanes<R, W>::Bits bits;
  __builtin_memcpy(&bits, &x.v, sizeof bits);
  return bits;
}
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> of_bits(typename Lanes<R, W>::Bits bits) {
  Lanes<R, W> x;
  __builtin_memcpy(&x.v, &bits, sizeof bits);
  return x;
}

/// a - b, around the end of the numbers too.
template <class Bits, class Int>
SHAKEDOWN_LANES Bits less(Bits a, Bits b) {
  using Unsigned = std::make_unsigned_t<Int>;
  typedef Unsigned Around __attribute__((vector_size(sizeof(Bits))));
  return reinterpret_cast<Bits>(reinterpret_cast<Around>(a) - reinterpret_cast<Around>(b));
}

}  // namespace lanes_detail

/// Whole numbers as bits, for |x| < 2^51 (2^22 in single precision).
template <class R, int W>
SHAKEDOWN_LANES typename Lanes<R, W>::Bits whole(Lanes<R, W> x) {
  const Lanes<R, W> magic = lanes_detail::Format<R>::kRound;
  return lanes_detail::bits_of(x + magic) - lanes_detail::bits_of(magic);
}

/// from[index[lane]] in each lane.
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> gather(const R* from, typename Lanes<R, W>::Bits index) {
  Lanes<R, W> read;
#if defined(__AVX512F__)
  if constexpr (W == 8 && sizeof(R) == 8) {
    read.v = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), 0xff, reinterpret_cast<__m512i>(index), from, 8);
    return read;
  }
  if constexpr (W == 16) {
    read.v = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, reinterpret_cast<__m512i>(index), from, 4);
    return read;
  }
#elif defined(__AVX2__)
  if constexpr (W == 4 && sizeof(R) == 8) {
    read.v = _mm256_i64gather_pd(from, reinterpret_cast<__m256i>(index), 8);
    return read;
  }
#endif
  for (int lane = 0; lane < W; ++lane) read.set(lane, from[index[lane]]);
  return read;
}

/// The whole number next to x towards minus infinity, for |x| < 2^51 (2^22).
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> floor(Lanes<R, W> x) {
  using L = Lanes<R, W>;
#if defined(__AVX2__)
  if constexpr (sizeof x.v == 32 && sizeof(R) == 8) return L(_mm256_floor_pd(x.v));
  if constexpr (sizeof x.v == 32 && sizeof(R) == 4) return L(_mm256_floor_ps(x.v));
#endif
  const L magic = lanes_detail::Format<R>::kRound;
  const L nearest = (x + magic) - magic;
  return select(nearest > x, nearest - L(1), nearest);
}

/// e^x; 0 below the smallest normal number, at most e^709 (e^88 in single precision).
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> exp(Lanes<R, W> x) {
  using L = Lanes<R, W>;
  using Format = lanes_detail::Format<R>;
  const L most = Format::kExpMost, least = Format::kExpLeast;
  const L inside = smaller(larger(x, least), most);
  const L magic = lanes_detail::Format<R>::kRound;
  const L shifted = inside * L(1.44269504088896340736) + magic;
  const L whole = shifted - magic;
  L rest = inside - whole * L(Format::kLn2High);
  rest = rest - whole * L(Format::kLn2Low);
  constexpr double series[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  const L sum = lanes_detail::polynomial<8>(series, rest);
  const auto scaled = lanes_detail::bits_of(sum) + (lanes_detail::bits_of(shifted) << Format::kMantissa);
  return select(x < least, L(0), lanes_detail::of_bits<R, W>(scaled));
}

/// ln x for normal x > 0; not a number for x < 0, and for 0 a large negative number.
template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> log(Lanes<R, W> x) {
  using L = Lanes<R, W>;
  using Format = lanes_detail::Format<R>;
  using Int = typename L::Int;
  // x = 2^e m with m in [sqrt(1/2), sqrt 2): the bits of sqrt(1/2) are taken off, so that the carry tells.
  const auto bits = lanes_detail::bits_of(x);
  const Int root = Format::kRootHalf;
  const auto above = lanes_detail::less<typename L::Bits, Int>(bits, typename L::Bits{} + root);
  const auto exponent = above >> Format::kMantissa;  // of a signed number: the sign is kept
  const L m =
      lanes_detail::of_bits<R, W>(lanes_detail::less<typename L::Bits, Int>(bits, exponent << Format::kMantissa));
  const L offset = Format::kRound;
  const L e = lanes_detail::of_bits<R, W>(exponent + lanes_detail::bits_of(offset)) - offset;
  const L s = (m - L(1)) / (m + L(1)), s2 = s * s;
  constexpr double series[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                               1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const L sum = lanes_detail::polynomial<4>(series, s2);
  const L small = L(2) * s + L(2) * s * s2 * sum;
  const L found = e * L(Format::kLn2High) + (small + e * L(Format::kLn2Low));
  return select(x >= L(0), found, L(__builtin_nan("")));
}

template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> log10(Lanes<R, W> x) {
  return log(x) * Lanes<R, W>(0.43429448190325182765);
}

template <class R, int W>
SHAKEDOWN_LANES Lanes<R, W> cbrt(Lanes<R, W> x) {  // of x > 0
  return exp(log(x) * Lanes<R, W>(1.0 / 3));
}

/// cos x and sin x for x in [0, pi].
template <class R, int W>
SHAKEDOWN_LANES void cos_sin(Lanes<R, W> x, Lanes<R, W>& cosine, Lanes<R, W>& sine) {
  using L = Lanes<R, W>;
  using Format = lanes_detail::Format<R>;
  const L y = (x - L(Format::kHalfPiHigh)) - L(Format::kHalfPiLow);  // cos x = -sin y, sin x = cos y
  const L y2 = y * y;
  constexpr double of_sine[] = {1.0,
                                -1.0 / 6,
                                1.0 / 120,
                                -1.0 / 5040,
                                1.0 / 362880,
                                -1.0 / 39916800,
                                1.0 / 6227020800,
                                -1.0 / 1307674368000,
                                1.0 / 355687428096000,
                                -1.0 / 121645100408832000,
                                1.0 / 51090942171709440000.0};
  constexpr double of_cosine[] = {1.0,
                                  -1.0 / 2,
                                  1.0 / 24,
                                  -1.0 / 720,
                                  1.0 / 40320,
                                  -1.0 / 3628800,
                                  1.0 / 479001600,
                                  -1.0 / 87178291200,
                                  1.0 / 20922789888000,
                                  -1.0 / 6402373705728000,
                                  1.0 / 2432902008176640000};
  cosine = -(y * lanes_detail::polynomial<6>(of_sine, y2));
  sine = lanes_detail::polynomial<7>(of_cosine, y2);
}

}  // namespace shakedown::radio
