// One link in one thread: what the steps of a model ask of lanes.hpp, for a device and for the host that stands for
// one. Double precision is as IEEE 754 has it, no product joined with a sum, so that what it decides is decided as on
// the host.
#pragma once

#include <cmath>

#include "device.hpp"

namespace shakedown::radio {

/// What a comparison gives.
struct Truth {
  bool is;
  friend SHAKEDOWN_LANES Truth operator&(Truth a, Truth b) { return {a.is && b.is}; }
  friend SHAKEDOWN_LANES Truth operator|(Truth a, Truth b) { return {a.is || b.is}; }
  friend SHAKEDOWN_LANES Truth operator!(Truth a) { return {!a.is}; }
  [[nodiscard]] SHAKEDOWN_LANES bool any() const { return is; }
};

namespace scalar_detail {

template <class R>
SHAKEDOWN_LANES R plus(R a, R b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(R) == 8) return __dadd_rn(a, b);
#endif
  return a + b;
}
template <class R>
SHAKEDOWN_LANES R times(R a, R b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(R) == 8) return __dmul_rn(a, b);
#endif
  return a * b;
}

}  // namespace scalar_detail

template <class R>
struct Scalar {
  using Real = R;
  static constexpr int kWidth = 1;
  using Truth = radio::Truth;
  Real v;

  Scalar() = default;
  SHAKEDOWN_LANES Scalar(double value) : v(static_cast<Real>(value)) {}  // NOLINT: a number is a lane of it
  SHAKEDOWN_LANES static Scalar of(Real value) {
    Scalar made;
    made.v = value;
    return made;
  }

  friend SHAKEDOWN_LANES Scalar operator+(Scalar a, Scalar b) { return of(scalar_detail::plus(a.v, b.v)); }
  friend SHAKEDOWN_LANES Scalar operator-(Scalar a, Scalar b) { return of(scalar_detail::plus(a.v, -b.v)); }
  friend SHAKEDOWN_LANES Scalar operator*(Scalar a, Scalar b) { return of(scalar_detail::times(a.v, b.v)); }
  friend SHAKEDOWN_LANES Scalar operator/(Scalar a, Scalar b) { return of(a.v / b.v); }
  friend SHAKEDOWN_LANES Scalar operator-(Scalar a) { return of(-a.v); }
  SHAKEDOWN_LANES Scalar& operator+=(Scalar b) { return *this = *this + b; }
  SHAKEDOWN_LANES Scalar& operator-=(Scalar b) { return *this = *this - b; }
  SHAKEDOWN_LANES Scalar& operator*=(Scalar b) { return *this = *this * b; }
  friend SHAKEDOWN_LANES Truth operator<(Scalar a, Scalar b) { return {a.v < b.v}; }
  friend SHAKEDOWN_LANES Truth operator>(Scalar a, Scalar b) { return {a.v > b.v}; }
  friend SHAKEDOWN_LANES Truth operator<=(Scalar a, Scalar b) { return {a.v <= b.v}; }
  friend SHAKEDOWN_LANES Truth operator>=(Scalar a, Scalar b) { return {a.v >= b.v}; }

  // As those of lanes.hpp: where x is not a number, the larger and the smaller of x and y are y.
  friend SHAKEDOWN_LANES Scalar select(Truth truth, Scalar a, Scalar b) { return truth.is ? a : b; }
  friend SHAKEDOWN_LANES Scalar larger(Scalar x, Scalar y) { return x.v > y.v ? x : y; }
  friend SHAKEDOWN_LANES Scalar smaller(Scalar x, Scalar y) { return x.v < y.v ? x : y; }

  friend SHAKEDOWN_LANES Scalar sqrt(Scalar x) {
    using std::sqrt;
    return of(sqrt(x.v));
  }
  friend SHAKEDOWN_LANES Scalar floor(Scalar x) {
    using std::floor;
    return of(floor(x.v));
  }
  friend SHAKEDOWN_LANES Scalar exp(Scalar x) {
    using std::exp;
    return of(exp(x.v));
  }
  friend SHAKEDOWN_LANES Scalar log(Scalar x) {
    using std::log;
    return of(log(x.v));
  }
  friend SHAKEDOWN_LANES Scalar log10(Scalar x) {
    using std::log10;
    return of(log10(x.v));
  }
  friend SHAKEDOWN_LANES Scalar cbrt(Scalar x) {
    using std::cbrt;
    return of(cbrt(x.v));
  }
  friend SHAKEDOWN_LANES void cos_sin(Scalar x, Scalar& cosine, Scalar& sine) {
    using std::cos;
    using std::sin;
    cosine = of(cos(x.v));
    sine = of(sin(x.v));
  }
};

}  // namespace shakedown::radio
