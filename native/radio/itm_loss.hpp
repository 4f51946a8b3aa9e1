// The reference attenuation of a geometry: diffraction over the terrain and the round earth, line of sight with its
// reflection, scatter from the troposphere. Lane by lane, in the steps S8 to S12 of README.md.
#pragma once

#include "itm_geometry.hpp"

namespace shakedown::radio {

constexpr double kPi = 3.14159265358979323846;

/// What S8 makes of a geometry: distances of the smooth earth, and the straight line that diffraction is.
template <class L>
struct Terms {
  Geometry<L> geometry;
  L smooth_m[2];     // distance of the smooth earth's horizons
  L smooth_sum_m;    // dLs: beyond it a path is no line of sight
  L horizon_sum_m;   // dL
  L bend_rad;        // te: of the two horizons against each other, at least that of the earth
  L diffraction_db;  // Aed: where the straight line meets zero distance
  L diffraction_db_per_m;
  double clutter_m2;  // 10 over a profile, 0 for an area
};

/// Terrain irregularity that a path of this length sees.
template <class L>
SHAKEDOWN_LANES L irregularity(const Terms<L>& terms, L distance_m) {
  return terms.geometry.delta_h_m * (L(1) - L(0.8) * exp(distance_m * L(-1 / 50e3)));
}
/// Standard deviation of heights within the first Fresnel zone.
template <class L>
SHAKEDOWN_LANES L sigma_h(L irregularity_m) {
  return L(0.78) * irregularity_m * exp(L(-0.5) * sqrt(sqrt(irregularity_m)));
}

/// Fn: the loss of a knife edge against the square of the Fresnel parameter.
template <class L>
SHAKEDOWN_LANES L fresnel_db(L parameter_squared) {
  return select(parameter_squared < L(5.76), L(6.02) + L(9.11) * sqrt(parameter_squared) - L(1.27) * parameter_squared,
                L(12.953) + L(10) * log10(parameter_squared));
}

/// F(x, K): the height-gain of the smooth earth.
template <class L>
SHAKEDOWN_LANES L height_function_db(L x, L k) {
  const L log_k = -log(k), log_x = log(x);
  const auto far_below = (k < L(1e-5)) | (x * log_k * log_k * log_k > L(5495));
  const L low = select(x > L(1), L(17.372) * log_x - L(117), L(-117));
  const L near = select(far_below, low, L(2.5e-5) * x * x / k - L(8.686) * log_k - L(15));
  const L plain = L(0.05751) * x - L(4.343) * log_x;
  const L weight = L(0.0134) * x * exp(L(-0.005) * x);
  const L blended = (L(1) - weight) * plain + weight * (L(17.372) * log_x - L(117));
  return select(x < L(200), near, select(x < L(2000), blended, plain));
}

/// S9: loss by diffraction at a distance beyond the horizons.
template <class L>
SHAKEDOWN_LANES L diffraction_db(const Terms<L>& terms, const Prepared& prepared, L s) {
  const Geometry<L>& g = terms.geometry;
  const double f = prepared.frequency_mhz, k = prepared.wavenumber_per_m;
  const L bend = s * g.curvature_per_m + terms.bend_rad, beyond = s - terms.horizon_sum_m;
  L edges = 0;
  for (int end = 0; end < 2; ++end) {
    edges += fresnel_db(L(0.0795775 * k) * bend * bend * g.horizon_m[end] * beyond / (beyond + g.horizon_m[end]));
  }
  const double cubic = prepared.frequency_cbrt;
  // Radii of the middle and of the two ends, their C, K and B.
  L c[3], loss[3], x[3];
  const L radius[3] = {beyond / bend, g.horizon_m[0] * g.horizon_m[0] / (L(2) * g.effective_m[0]),
                       g.horizon_m[1] * g.horizon_m[1] / (L(2) * g.effective_m[1])};
  L along[3];
  along[0] = radius[0] * bend * L(1e-3);
  along[1] = g.horizon_m[0] * L(1e-3);
  along[2] = g.horizon_m[1] * L(1e-3);
  for (int i = 0; i < 3; ++i) {
    c[i] = cbrt(L(4.0 / 3 * 6370e3) / radius[i]);
    loss[i] = L(0.017778 / cubic / prepared.ground_abs) * c[i];
    x[i] = (L(1.607) - loss[i]) * c[i] * c[i] * L(cubic) * along[i];
  }
  const L x0 = x[0] + x[1] + x[2];
  const L round = L(0.05751) * x0 - L(10) * log10(x0) - height_function_db(x[1], loss[1]) -
                  height_function_db(x[2], loss[2]) - L(20);
  const L rough = irregularity(terms, s);
  const L clutter = smaller(L(15), L(5) * log10(L(1) + L(1e-5) * g.antenna_m[0] * g.antenna_m[1] * L(f) *
                                                           sigma_h(irregularity(terms, terms.smooth_sum_m))));
  const L product = g.effective_m[0] * g.effective_m[1], structural = g.antenna_m[0] * g.antenna_m[1];
  const L by_heights = sqrt((product + L(terms.clutter_m2)) / (structural + L(terms.clutter_m2)));
  const L reach = (terms.bend_rad / g.curvature_per_m + terms.horizon_sum_m) / s;
  const L q = (by_heights + reach) * smaller(rough * L(f / 47.7), L(6283.2));
  const L weight = L(25.1) / (L(25.1) + sqrt(q));
  return weight * round + (L(1) - weight) * edges + clutter;
}

/// S10: loss in sight of each other at a distance: two rays, blended with diffraction.
template <class L>
SHAKEDOWN_LANES L sight_db(const Terms<L>& terms, const Prepared& prepared, L s) {
  const Geometry<L>& g = terms.geometry;
  const double k = prepared.wavenumber_per_m;
  const L heights = g.effective_m[0] + g.effective_m[1];
  const L grazing = heights / sqrt(s * s + heights * heights);
  // (psi - Z) / (psi + Z), a quotient of complex numbers.
  const L over_re = grazing - L(prepared.ground_re), over_im = L(-prepared.ground_im);
  const L below_re = grazing + L(prepared.ground_re), below_im = L(prepared.ground_im);
  const L size = below_re * below_re + below_im * below_im;
  const L damped = exp(-smaller(L(10), L(k) * grazing * sigma_h(irregularity(terms, s)))) / size;
  L re = (over_re * below_re + over_im * below_im) * damped, im = (over_im * below_re - over_re * below_im) * damped;
  const L q = re * re + im * im;
  const auto weak = (q < L(0.25)) | (q < grazing);
  const L raised = select(weak, sqrt(grazing / q), L(1));
  re *= raised;
  im *= raised;
  L phase = L(2 * k) * g.effective_m[0] * g.effective_m[1] / s;
  phase = select(phase > L(kPi / 2), L(kPi) - L(kPi / 2 * kPi / 2) / phase, phase);
  L cosine, sine;
  cos_sin(phase, cosine, sine);
  const L sum_re = cosine + re, sum_im = im - sine;
  const L two_rays = L(-10) * log10(sum_re * sum_re + sum_im * sum_im);
  const L diffracted = terms.diffraction_db + terms.diffraction_db_per_m * s;
  const L weight = L(1) / (L(1) + L(prepared.frequency_mhz) * g.delta_h_m / larger(L(10e3), terms.smooth_sum_m));
  return weight * two_rays + (L(1) - weight) * diffracted;
}

/// S10 as a whole: a curve through losses at up to three distances.
template <class L>
SHAKEDOWN_LANES L line_of_sight_db(const Terms<L>& terms, const Prepared& prepared) {
  const Geometry<L>& g = terms.geometry;
  const L slope = terms.diffraction_db_per_m, zero = terms.diffraction_db, smooth = terms.smooth_sum_m;
  const L horizon = terms.horizon_sum_m;
  const L far = zero + slope * smooth;
  const auto above = zero >= L(0);
  L d0 = L(0.04 * prepared.frequency_mhz) * g.effective_m[0] * g.effective_m[1];
  d0 = select(above, smaller(d0, L(0.5) * horizon), d0);
  const L d1 = select(above, d0 + L(0.25) * (horizon - d0), larger(-zero / slope, L(0.25) * horizon));
  const L at1 = sight_db(terms, prepared, d1), at0 = sight_db(terms, prepared, d0);
  const L q = log(smooth / d0);
  L curved = larger(
      L(0), ((smooth - d0) * (at1 - at0) - (d1 - d0) * (far - at0)) / ((smooth - d0) * log(d1 / d0) - (d1 - d0) * q));
  const auto three = (d0 < d1) & ((zero > L(0)) | (curved > L(0)));
  L straight = (far - at0 - curved * q) / (smooth - d0);
  const auto falling = straight < L(0);
  curved = select(falling, larger(far - at0, L(0)) / q, curved);
  straight = select(falling, select(curved > L(0), L(0), slope), straight);
  L two = larger(far - at1, L(0)) / (smooth - d1);
  two = select(two > L(0), two, slope);
  straight = select(three, straight, two);
  curved = select(three, curved, L(0));
  return far + straight * (g.distance_m - smooth) + curved * log(g.distance_m / smooth);
}

/// h(r, eta): 10 log10(1 + a r^-4 + b r^-2), linear between whole numbers of eta in [1, 5].
template <class L>
SHAKEDOWN_LANES L h0_db(L r, L eta) {
  constexpr double a[] = {25, 80, 177, 395, 705}, b[] = {24, 45, 68, 80, 105};
  eta = smaller(larger(eta, L(1)), L(5));
  const L whole = smaller(floor(eta), L(4)), part = eta - whole;
  L a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
  for (int i = 1; i < 4; ++i) {
    const auto here = whole >= L(i + 1);
    a0 = select(here, L(a[i]), a0);
    a1 = select(here, L(a[i + 1]), a1);
    b0 = select(here, L(b[i]), b0);
    b1 = select(here, L(b[i + 1]), b1);
  }
  const L x = L(1) / (r * r);
  const L low = L(10) * log10(L(1) + (a0 * x + b0) * x), high = L(10) * log10(L(1) + (a1 * x + b1) * x);
  return (L(1) - part) * low + part * high;
}

/// S11: loss by scatter at a distance. `h0` is what the first of two calls leaves for the second, -1 before it.
template <class L>
SHAKEDOWN_LANES L scatter_db(const Terms<L>& terms, const Prepared& prepared, L s, L& h0) {
  const Geometry<L>& g = terms.geometry;
  const double k = prepared.wavenumber_per_m, f = prepared.frequency_mhz;
  L off = g.horizon_m[0] - g.horizon_m[1], ratio = g.effective_m[1] / g.effective_m[0];
  const auto turned = off < L(0);
  off = select(turned, -off, off);
  ratio = select(turned, L(1) / ratio, ratio);
  const L angle = g.horizon_rad[0] + g.horizon_rad[1] + s * g.curvature_per_m;
  const L r1 = L(2 * k) * angle * g.effective_m[0], r2 = L(2 * k) * angle * g.effective_m[1];
  const auto kept = h0 > L(15);
  const auto none = (!kept) & (r1 < L(0.2)) & (r2 < L(0.2));
  L asymmetry = (s - off) / (s + off);
  const L q = smaller(larger(ratio / asymmetry, L(0.1)), L(10));
  asymmetry = larger(L(0.1), asymmetry);
  const L crossing = (s - off) * (s + off) * angle * L(0.25) / s;
  const L n = g.surface_n;
  const L near = smaller(L(1.7), crossing * L(1 / 8e3)), near3 = near * near * near;
  const L eta =
      crossing * L(1 / 1755.6) * (L(1) + (L(0.031) - L(2.32e-3) * n + L(5.67e-6) * n * n) * exp(-near3 * near3));
  const L h00 = (h0_db(r1, eta) + h0_db(r2, eta)) * L(0.5);
  const L more = smaller(h00, L(6) * (L(0.6) - log10(larger(eta, L(1)))) * log10(asymmetry) * log10(q));
  L found = larger(h00 + more, L(0));
  const L factor1 = L(1) + L(1.4142135623730951) / r1, factor2 = L(1) + L(1.4142135623730951) / r2;
  const L product = factor1 * factor2;
  const L low = L(10) * log10(product * product * (r1 + r2) / (r1 + r2 + L(2 * 1.4142135623730951)));
  found = select(eta < L(1), eta * found + (L(1) - eta) * low, found);
  found = select((found > L(15)) & (h0 >= L(0)), h0, found);
  const L used = select(kept, h0, found);
  h0 = select(none, h0, used);

  const L bend = s * g.curvature_per_m + terms.bend_rad, u = bend * s;
  const L log_u = log10(u);
  const L path = select(
      u <= L(10e3), L(133.4) + L(0.332e-3) * u - L(10) * log_u,
      select(u <= L(70e3), L(104.6) + L(0.212e-3) * u - L(2.5) * log_u, L(71.8) + L(0.157e-3) * u + L(5) * log_u));
  const L loss =
      path + L(10) * log10(L(f) * bend * bend * bend * bend) - L(0.1) * (n - L(301)) * exp(u * L(-1 / 40e3)) + used;
  return select(none, L(1001), loss);
}

/// S8: what a geometry comes to before it is asked for a distance.
template <class L>
SHAKEDOWN_LANES Terms<L> terms_of(const Geometry<L>& geometry, const Prepared& prepared, double clutter_m2) {
  Terms<L> terms;
  terms.geometry = geometry;
  terms.clutter_m2 = clutter_m2;
  const L curvature = geometry.curvature_per_m;
  for (int end = 0; end < 2; ++end) terms.smooth_m[end] = sqrt(L(2) * geometry.effective_m[end] / curvature);
  terms.smooth_sum_m = terms.smooth_m[0] + terms.smooth_m[1];
  terms.horizon_sum_m = geometry.horizon_m[0] + geometry.horizon_m[1];
  terms.bend_rad = larger(geometry.horizon_rad[0] + geometry.horizon_rad[1], -terms.horizon_sum_m * curvature);
  const L x = cbrt(L(1) / (curvature * curvature * L(prepared.frequency_mhz)));
  const L d3 = larger(terms.smooth_sum_m, terms.horizon_sum_m + L(5) * x), d4 = d3 + L(10) * x;
  const L at3 = diffraction_db(terms, prepared, d3), at4 = diffraction_db(terms, prepared, d4);
  terms.diffraction_db_per_m = (at4 - at3) / (d4 - d3);
  terms.diffraction_db = at3 - terms.diffraction_db_per_m * d3;
  return terms;
}

/// S11 as a whole: the lesser of diffraction and scatter. `scatters` says where it was scatter.
template <class L>
SHAKEDOWN_LANES L beyond_db(const Terms<L>& terms, const Prepared& prepared, typename L::Truth& scatters) {
  const Geometry<L>& g = terms.geometry;
  const L d5 = terms.horizon_sum_m + L(200e3), d6 = terms.horizon_sum_m + L(400e3);
  L h0 = -1;
  const L at6 = scatter_db(terms, prepared, d6, h0), at5 = scatter_db(terms, prepared, d5, h0);
  const L slope = (at6 - at5) * L(1 / 200e3);
  const L x = cbrt(L(1) / (g.curvature_per_m * g.curvature_per_m * L(prepared.frequency_mhz)));
  const L meeting = (at5 - terms.diffraction_db - slope * d5) / (terms.diffraction_db_per_m - slope);
  L turn = larger(larger(terms.smooth_sum_m, terms.horizon_sum_m + L(1.088 * prepared.frequency_log) * x), meeting);
  const L zero = (terms.diffraction_db_per_m - slope) * turn + terms.diffraction_db;
  const auto known = at5 < L(1000);
  turn = select(known, turn, L(10e6));
  scatters = g.distance_m > turn;
  return select(scatters & known, zero + slope * g.distance_m,
                terms.diffraction_db + terms.diffraction_db_per_m * g.distance_m);
}

template <class L>
SHAKEDOWN_LANES L free_space_db(const Prepared& prepared, L distance_m) {
  return L(32.45 + 20 * prepared.frequency_log10) + L(20) * log10(distance_m * L(1e-3));
}

}  // namespace shakedown::radio
