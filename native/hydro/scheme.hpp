// The scheme, formula by formula, for a vector of cells or of faces at a time. Lanes gives the vector: V of doubles, M
// what its comparisons give, sqrt, least, most and any. Additions and multiplications stand apart (no fused ones), and
// divisions and roots are IEEE's: so every instruction set gives the same bits.
//
// A face is a mirror of itself: with left and right exchanged and the velocity turned, the result is the same to the
// last bit. So a wall lets nothing through, exactly, and a field turned over its diagonal stays turned.
//
// Sources: B. van Leer, Journal of Computational Physics 32, 101, 1979 (MUSCL, and Hancock's half step); P. Colella,
// H. M. Glaz, Journal of Computational Physics 59, 264, 1985 (two shocks by iteration, the state on the face);
// P. Woodward, P. Colella, Journal of Computational Physics 54, 115, 1984; E. F. Toro, Riemann Solvers and Numerical
// Methods for Fluid Dynamics, chapters 4, 13 and 16.
#pragma once

#include "hydro.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline
#define SHAKEDOWN_LAMBDA __attribute__((always_inline))

namespace shakedown::hydro {

inline constexpr double kLeastPressure = kLeastC * kLeastC / kGamma;  // over density

/// A state by density, velocity along the sweep and across it, and pressure.
template <class V>
struct Primitive {
  V r, n, t, p;
};
/// Amounts in a cell, or what goes through a face in a unit of time: mass, momentum along and across, energy.
template <class V>
struct Amounts {
  V r, n, t, e;
};

template <class L>
struct Scheme {
  using V = typename L::V;
  using M = typename L::M;

  SHAKEDOWN_INLINE static V set(double x) { return L::set(x); }
  SHAKEDOWN_INLINE static V choose(M where, V yes, V no) { return L::choose(where, yes, no); }
  SHAKEDOWN_INLINE static V size(V x) { return L::most(x, -x); }

  /// The state of a cell; `each` becomes the volume of a unit of mass.
  SHAKEDOWN_INLINE static Primitive<V> primitive(const Amounts<V>& u, V& each) {
    const V r = L::most(u.r, set(kLeast));
    each = set(1) / r;
    const V n = u.n * each, t = u.t * each;
    const V heat = u.e - set(0.5) * (r * (n * n + t * t));
    return {r, n, t, L::most(set(kGamma - 1) * heat, r * set(kLeastPressure))};
  }

  /// The fastest wave in either dimension.
  SHAKEDOWN_INLINE static V fastest(const Amounts<V>& u) {
    V each;
    const Primitive<V> q = primitive(u, each);
    return L::sqrt(set(kGamma) * (q.p * each)) + L::most(size(q.n), size(q.t));
  }

  /// The smaller of the differences to both neighbours where they have the same sign, else nothing: minmod.
  SHAKEDOWN_INLINE static V slope(V before, V here, V after) {
    const V a = here - before, b = after - here;
    return choose(a * b > set(0), choose(size(a) < size(b), a, b), set(0));
  }

  /// The states at a cell's faces after half a step (`half` is dt / 2 dx), by the equations in primitive variables.
  SHAKEDOWN_INLINE static void faces(const Primitive<V>& before, const Primitive<V>& q, const Primitive<V>& after,
                                     V each, V half, Primitive<V>& low, Primitive<V>& high) {
    const V r = slope(before.r, q.r, after.r), n = slope(before.n, q.n, after.n);
    const V t = slope(before.t, q.t, after.t), p = slope(before.p, q.p, after.p);
    const Primitive<V> middle = {q.r - half * (q.n * r + q.r * n), q.n - half * (q.n * n + p * each),
                                 q.t - half * (q.n * t), q.p - half * (q.n * p + set(kGamma) * (q.p * n))};
    const V part = set(0.5);
    high = {middle.r + part * r, middle.n + part * n, middle.t + part * t, middle.p + part * p};
    low = {middle.r - part * r, middle.n - part * n, middle.t - part * t, middle.p - part * p};
  }

  /// Pressure between two waves that leave a face, each taken as a shock: Newton's iteration, ended in each lane by
  /// itself. a and b become the mass that the left and the right wave sweep over in a unit of time.
  struct Star {
    V p, a, b;
  };
  SHAKEDOWN_INLINE static Star star(const Primitive<V>& l, const Primitive<V>& r, V a0, V b0, V cl, V cr) {
    constexpr double kUp = (kGamma + 1) / 2, kDown = (kGamma - 1) / 2;
    constexpr double kSmall = kLeast * kLeastPressure;
    const V closing = l.n - r.n;
    Star s{L::most(((b0 * l.p + a0 * r.p) + (a0 * b0) * closing) / (a0 + b0), set(0)), a0, b0};
    const V below_l = set(kDown) * l.p, below_r = set(kDown) * r.p;
    M busy = s.p == s.p;
    for (int k = 0; k < kMostIterations; ++k) {
      const V up = set(kUp) * s.p;
      const V aa = l.r * (up + below_l), bb = r.r * (up + below_r);
      const V a = L::sqrt(aa), b = L::sqrt(bb);
      const V over = set(2) * (aa * bb) * (closing * (a * b) - ((s.p - l.p) * b + (s.p - r.p) * a));
      const V under = (aa + cl) * (b * bb) + (bb + cr) * (a * aa);
      const V change = L::most(over / under, -s.p);
      s.p = choose(busy, s.p + change, s.p);
      busy = busy & (size(change) > set(kConverged) * (s.p + set(kSmall)));
      if (!L::any(busy)) break;
    }
    const V up = set(kUp) * s.p;
    s.a = L::sqrt(l.r * (up + below_l));
    s.b = L::sqrt(r.r * (up + below_r));
    return s;
  }

  /// The state on a face between two states: what lies there after the waves have left.
  SHAKEDOWN_INLINE static Primitive<V> face(Primitive<V> l, Primitive<V> r) {
    constexpr double kUp = (kGamma + 1) / 2, kDown = (kGamma - 1) / 2;
    l.r = L::most(l.r, set(kLeast));
    r.r = L::most(r.r, set(kLeast));
    l.p = L::most(l.p, l.r * set(kLeastPressure));
    r.p = L::most(r.p, r.r * set(kLeastPressure));
    const V cl = set(kGamma) * (l.p * l.r), cr = set(kGamma) * (r.p * r.r);
    const V a0 = L::sqrt(cl), b0 = L::sqrt(cr);
    const Star s = star(l, r, a0, b0, cl, cr);
    const V u = set(0.5) * ((l.n + r.n) + ((l.p - s.p) * s.b - (r.p - s.p) * s.a) / (s.a * s.b));
    // The side of the contact that the face is on; velocities from here on point away from that side's gas.
    const M from_left = u > set(0);
    const V ro = choose(from_left, l.r, r.r), po = choose(from_left, l.p, r.p);
    const V uo = choose(from_left, l.n, -r.n), us = choose(from_left, u, -u);
    const V w = choose(from_left, s.a, s.b), w0 = choose(from_left, a0, b0);
    const V sum = set(kUp) * s.p + set(kDown) * po, other = set(kDown) * s.p + set(kUp) * po;
    const V ro_sum = ro * sum;
    const V k = set(1) / (ro_sum * other);
    const V each = k * (sum * other);        // 1 / ro
    const V behind = k * (ro_sum * ro_sum);  // density between wave and contact: ro sum / other
    const V c = L::sqrt(set(kGamma) * (s.p * (k * (other * other))));
    const M shock = s.p >= po;
    const V front = w * each - uo;
    const V head = choose(shock, front, w0 * each - uo), tail = choose(shock, front, c - us);
    const M before = head<set(0), after = tail> set(0);
    Primitive<V> q = {choose(before, ro, behind), choose(before, uo, us), choose(from_left, l.t, r.t),
                      choose(before, po, s.p)};
    if (const M inside = ~(before | after); L::any(inside)) {
      const V both = head + tail;
      const V width = L::most(head - tail, set(kLeastC) + size(both));
      const V f = L::most(set(0), L::least(set(1), set(0.5) * (set(1) + both / width)));
      const V g = set(1) - f;
      q.r = choose(inside, f * behind + g * ro, q.r);
      q.n = choose(inside, f * us + g * uo, q.n);
      q.p = choose(inside, f * s.p + g * po, q.p);
    }
    q.n = choose(from_left, q.n, -q.n);
    return q;
  }

  /// What goes through a face in a unit of time.
  SHAKEDOWN_INLINE static Amounts<V> flux(const Primitive<V>& l, const Primitive<V>& r) {
    const Primitive<V> q = face(l, r);
    const V mass = q.r * q.n;
    return {mass, mass * q.n + q.p, mass * q.t,
            q.n * (set(kGamma / (kGamma - 1)) * q.p) + set(0.5) * (mass * (q.n * q.n + q.t * q.t))};
  }
};

}  // namespace shakedown::hydro
