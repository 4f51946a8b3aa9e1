// The inner loops over one vector type. A source for an instruction set brings the type and includes this.
//
// `Vector` has: T, V, kLanes, kRows, set, load, sub, mul, fma (a b + c), fnma (c - a b), add, estimate (of 1/sqrt), and
// total (add the lanes of a vector to doubles). kDegree: of the polynomial that turns the estimate into full precision.
//
// With y an estimate of 1/sqrt(s) and e = 1 - s y^2 (exact but for a rounding),
//
//     s^(-3/2) = y^3 (1 - e)^(-3/2) = y^3 (1 + 3/2 e + 15/8 e^2 + 35/16 e^3 + 315/128 e^4 + ...)
//
// cut after e^kDegree. One coefficient is moved so that what is cut off is spread over both sides (Chebyshev), for
// |e| <= 2 kEstimate. The leading coefficient goes into the masses beforehand, so that the polynomial is monic.
#pragma once

#include "kernel.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline

namespace shakedown::nbody {
namespace {

/// Monic coefficients q[0] .. q[degree-1] and the leading one of the polynomials above; `power` is -3/2 or -1/2.
struct Series {
  double q[6];
  double lead;
};
constexpr Series series(double power, int degree, double bound) {
  double c[8] = {1};
  for (int k = 1; k < 8; ++k) c[k] = c[k - 1] * (k - 1 - power) / k;  // of (1 - e)^power, power negative
  // e^(d+1) is best met by lower powers through the Chebyshev polynomial of degree d + 1 on [-bound, bound].
  const double b2 = bound * bound;
  if (degree == 1) c[0] += c[2] * b2 / 2;
  if (degree == 2) c[1] += c[3] * b2 * 3 / 4;
  if (degree == 3) {
    c[2] += c[4] * b2;
    c[0] -= c[4] * b2 * b2 / 8;
  }
  if (degree == 4) {
    c[3] += c[5] * b2 * 5 / 4;
    c[1] -= c[5] * b2 * b2 * 5 / 16;
  }
  Series found{{}, c[degree]};
  for (int k = 0; k < degree; ++k) found.q[k] = c[k] / c[degree];
  return found;
}

template <class Vector>
struct Inner {
  using T = typename Vector::T;
  using V = typename Vector::V;
  static constexpr int kDegree = Vector::kDegree;
  static constexpr int kRows = Vector::kRows;
  static constexpr Series kForce = series(-1.5, kDegree, 2 * Vector::kEstimate);
  static constexpr Series kPotential = series(-0.5, kDegree, 2 * Vector::kEstimate);
  // As the loop rounds it: 1 + q0 of a polynomial of degree 1 is one number, and its rounding goes into the masses too.
  static constexpr T kOne = static_cast<T>(1 + kForce.q[0]);
  static constexpr double kScale = kDegree == 1 ? 1 / (static_cast<double>(kOne) - 1) : kForce.lead;

  /// m s^(-3/2) with m scaled.
  SHAKEDOWN_INLINE static V inverse_cube(V s, V y, V m) {
    const V w = Vector::mul(y, y);
    V p;
    if constexpr (kDegree == 1) {
      p = Vector::fnma(s, w, Vector::set(kOne));
    } else {
      const V e = Vector::fnma(s, w, Vector::set(T{1}));
      p = Vector::add(e, Vector::set(static_cast<T>(kForce.q[kDegree - 1])));
#pragma GCC unroll 4
      for (int k = kDegree - 2; k >= 0; --k) p = Vector::fma(p, e, Vector::set(static_cast<T>(kForce.q[k])));
    }
    return Vector::mul(Vector::mul(m, y), Vector::mul(w, p));
  }

  /// m s^(-1/2) with m scaled as the forces' masses are.
  SHAKEDOWN_INLINE static V inverse_root(V s, V y, V m) {
    const V e = Vector::fnma(s, Vector::mul(y, y), Vector::set(T{1}));
    V p = Vector::set(static_cast<T>(kPotential.lead));
#pragma GCC unroll 4
    for (int k = kDegree - 1; k >= 0; --k) {
      p = Vector::fma(p, e, Vector::set(static_cast<T>(kPotential.q[k] * kPotential.lead)));
    }
    return Vector::mul(Vector::mul(m, y), p);
  }

  template <bool WithPotential>
  static void run(const Tile<T>& tile) {
    constexpr std::size_t kBlock = kRows * Vector::kLanes;
    const V eps2 = Vector::set(tile.eps2);
    for (std::size_t i = 0; i < tile.targets; i += kBlock) {
      V x[kRows], y[kRows], z[kRows], ax[kRows], ay[kRows], az[kRows], phi[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const std::size_t at = i + static_cast<std::size_t>(r) * Vector::kLanes;
        x[r] = Vector::load(tile.tx + at);
        y[r] = Vector::load(tile.ty + at);
        z[r] = Vector::load(tile.tz + at);
        ax[r] = ay[r] = az[r] = phi[r] = Vector::set(T{0});
      }
      for (std::size_t j = 0; j < tile.sources; ++j) {
        const V sx = Vector::set(tile.sx[j]), sy = Vector::set(tile.sy[j]), sz = Vector::set(tile.sz[j]);
        const V m = Vector::set(tile.sm[j]);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const V dx = Vector::sub(sx, x[r]), dy = Vector::sub(sy, y[r]), dz = Vector::sub(sz, z[r]);
          const V s = Vector::fma(dz, dz, Vector::fma(dy, dy, Vector::fma(dx, dx, eps2)));
          const V root = Vector::estimate(s);
          const V f = inverse_cube(s, root, m);
          ax[r] = Vector::fma(f, dx, ax[r]);
          ay[r] = Vector::fma(f, dy, ay[r]);
          az[r] = Vector::fma(f, dz, az[r]);
          if constexpr (WithPotential) phi[r] = Vector::add(phi[r], inverse_root(s, root, m));
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const std::size_t at = i + static_cast<std::size_t>(r) * Vector::kLanes;
        Vector::total(ax[r], tile.ax + at);
        Vector::total(ay[r], tile.ay + at);
        Vector::total(az[r], tile.az + at);
        if constexpr (WithPotential) Vector::total(phi[r], tile.phi + at);
      }
    }
  }

  static constexpr Loops<T> loops() {
    // Three squares, the estimate, y^2, the polynomial (with e beside it above degree 1; its first step is an
    // addition), three products, three sums; and three differences.
    constexpr double kMultiplies = 3 + Vector::kEstimateInstructions + 1 + (kDegree == 1 ? 1 : kDegree) + 3 + 3;
    constexpr double kInstructions = kMultiplies + 3 + (kDegree == 1 ? 0 : 1);
    return {&run<false>, &run<true>,    static_cast<std::size_t>(kRows) * Vector::kLanes, kScale, kInstructions,
            kMultiplies, Vector::kLanes};
  }
};

}  // namespace
}  // namespace shakedown::nbody
