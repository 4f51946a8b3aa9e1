// What the model asks of a path, and how it is found from a few sums over the profile: S1 to S7 of README.md but for
// the passes over the points, which are itm_profile.hpp's on registers and gpu_path_loss's on devices.
#pragma once

#include "device.hpp"
#include "itm_prepared.hpp"

namespace shakedown::radio {

constexpr int kMostSamples = 245;  // of the terrain irregularity

template <class L>
struct Geometry {
  L distance_m;
  L antenna_m[2];  // above ground, transmitter and receiver
  L horizon_rad[2];
  L horizon_m[2];
  L effective_m[2];  // heights of the antennas above the plane that reflects
  L delta_h_m;
  L surface_n;        // refractivity of the surface
  L curvature_per_m;  // of the effective earth
};

/// S2: the refractivity of the surface at a mean height.
template <class L>
SHAKEDOWN_LANES L surface_refractivity(const Prepared& prepared, L mean_height_m) {
  return L(prepared.refractivity_n) * exp(mean_height_m * L(-1 / 9460.0));
}
/// S2: the effective earth of a refractivity.
template <class L>
SHAKEDOWN_LANES L curvature_of(L surface_n) {
  return L(157e-9) * (L(1) - L(0.04665) * exp(surface_n * L(1 / 179.3)));
}

/// S4: the part of the path that irregularity and lines are taken from, from its horizons.
template <class L>
struct Part {
  L from_m, to_m;
};
template <class L>
SHAKEDOWN_LANES Part<L> trimmed(const Geometry<L>& geometry) {
  const L *at = geometry.horizon_m, *antenna = geometry.antenna_m;
  return {smaller(L(15) * antenna[0], L(0.1) * at[0]),
          geometry.distance_m - smaller(L(15) * antenna[1], L(0.1) * at[1])};
}

/// S5: which of the samples on either side are the deciles, of a part so many steps long; samples are 10 of it less 5.
template <class L>
SHAKEDOWN_LANES L decile_rank(L steps) {
  return smaller(larger(floor(L(0.1) * (steps + L(8))), L(4)), L(25));
}
/// S5: from the range between deciles over a part to that of a long path.
template <class L>
SHAKEDOWN_LANES L whole_irregularity(L decile_m, const Part<L>& part) {
  return decile_m / (L(1) - L(0.8) * exp((part.from_m - part.to_m) * L(1 / 50e3)));
}

/// A straight line by least squares: its heights at the two ends of what it was fitted in.
template <class L>
struct Line {
  L left, right;
};

/// S6: the indices between which the line is fitted.
template <class L>
struct FitRange {
  L first, last, middle;
};
template <class L>
SHAKEDOWN_LANES FitRange<L> range_of(L from, L to, int intervals) {  // in steps
  const L all = intervals;
  L first = floor(larger(from, L(0))), last = all - floor(larger(all - to, L(0)));
  const auto empty = last <= first;
  first = select(empty, larger(first - L(1), L(0)), first);
  last = select(empty, all - larger(all - (last + L(1)), L(0)), last);
  return {first, last, last - (last - first) * L(0.5)};
}

/// S6: the line from its range and the sums over its points, of which the first and the last count half: of heights,
/// and of heights times their distance from the middle.
template <class L>
SHAKEDOWN_LANES Line<L> line_of_sums(const FitRange<L>& range, L sum, L moment, L intervals) {
  const L width = range.last - range.first;
  const L mean = sum / width, slope = L(12) * moment / ((width * width + L(2)) * width);
  return {mean - slope * range.middle, mean + slope * (intervals - range.middle)};
}

/// Whether the terrain does not decide the horizons of a path.
template <class L>
SHAKEDOWN_LANES auto is_clear(const Geometry<L>& geometry) {
  return geometry.horizon_m[0] + geometry.horizon_m[1] > L(1.5) * geometry.distance_m;
}

/// S7: where the lines are fitted from which the antennas' heights count: one over a clear path, else one at each end
/// up to near its horizon.
template <class L>
SHAKEDOWN_LANES void fit_ranges(const Geometry<L>& geometry, const Part<L>& part, L step_m, int intervals,
                                FitRange<L>& at_tx, FitRange<L>& at_rx) {
  const auto clear = is_clear(geometry);
  const L* at = geometry.horizon_m;
  const L first_end = select(clear, part.to_m, L(0.9) * at[0]),
          second_begin = select(clear, part.from_m, geometry.distance_m - L(0.9) * at[1]);
  at_tx = range_of(part.from_m / step_m, first_end / step_m, intervals);
  at_rx = range_of(second_begin / step_m, part.to_m / step_m, intervals);
}

/// S7 of a path whose horizons the terrain does not decide: the smooth earth's, shortened by its roughness.
template <class L>
SHAKEDOWN_LANES void smooth_horizons(Geometry<L>& geometry) {
  for (int end = 0; end < 2; ++end) {
    const L height = geometry.effective_m[end];
    const L smooth = sqrt(L(2) * height / geometry.curvature_per_m);
    geometry.horizon_m[end] = smooth * exp(L(-0.07) * sqrt(geometry.delta_h_m / larger(height, L(5))));
    geometry.horizon_rad[end] =
        (L(0.65) * geometry.delta_h_m * (smooth / geometry.horizon_m[end] - L(1)) - L(2) * height) / smooth;
  }
}

/// S7: effective heights from how far the ground at each end is above its line, and horizons where the terrain does
/// not decide them: where the path is clear.
template <class L>
SHAKEDOWN_LANES void raise_antennas(Geometry<L>& geometry, typename L::Truth clear, L tx_above_line_m,
                                    L rx_above_line_m) {
  geometry.effective_m[0] = geometry.antenna_m[0] + larger(tx_above_line_m, L(0));
  geometry.effective_m[1] = geometry.antenna_m[1] + larger(rx_above_line_m, L(0));
  Geometry<L> smooth = geometry;
  smooth_horizons(smooth);
  const L reach = smooth.horizon_m[0] + smooth.horizon_m[1];
  const L nearer = geometry.distance_m / reach;
  const L factor = select(reach <= geometry.distance_m, nearer * nearer, L(1));
  for (int end = 0; end < 2; ++end) smooth.effective_m[end] *= factor;
  smooth_horizons(smooth);
  for (int end = 0; end < 2; ++end) {
    geometry.effective_m[end] = select(clear, smooth.effective_m[end], geometry.effective_m[end]);
    geometry.horizon_m[end] = select(clear, smooth.horizon_m[end], geometry.horizon_m[end]);
    geometry.horizon_rad[end] = select(clear, smooth.horizon_rad[end], geometry.horizon_rad[end]);
  }
}
template <class L>
SHAKEDOWN_LANES void raise_antennas(Geometry<L>& geometry, L tx_above_line_m, L rx_above_line_m) {
  raise_antennas(geometry, is_clear(geometry), tx_above_line_m, rx_above_line_m);
}

}  // namespace shakedown::radio
