// What a profile comes to for the model: horizons, terrain irregularity, effective heights. Lane by lane, in the steps
// S1 to S7 of README.md.
#pragma once

#include "itm_setting.hpp"
#include "lanes.hpp"
#include "order.hpp"

namespace shakedown::radio {

constexpr int kMostSamples = 245;  // of the terrain irregularity

/// Links side by side over profiles with as many intervals each: heights_m holds (intervals + 1) rows of a height a
/// lane.
template <class L>
struct Profiles {
  const typename L::Real* heights_m;
  int intervals;
  L step_m;
  L antenna_m[2];  // above ground, transmitter and receiver

  [[nodiscard]] SHAKEDOWN_LANES L at(int point) const {
    return L::load(heights_m + static_cast<long>(point) * L::kWidth);
  }
  [[nodiscard]] SHAKEDOWN_LANES L distance_m() const { return step_m * L(intervals); }
};

template <class L>
struct Geometry {
  L distance_m;
  L antenna_m[2];
  L horizon_rad[2];
  L horizon_m[2];
  L effective_m[2];  // heights of the antennas above the plane that reflects
  L delta_h_m;
  L surface_n;        // refractivity of the surface
  L curvature_per_m;  // of the effective earth
};

/// S2: the effective earth of a mean height.
template <class L>
SHAKEDOWN_LANES L curvature_of(L surface_n) {
  return L(157e-9) * (L(1) - L(0.04665) * exp(surface_n * L(1 / 179.3)));
}

/// S1: the mean height of the profile without a tenth of its points at each end.
template <class L>
SHAKEDOWN_LANES L mean_height(const Profiles<L>& path) {
  const int cut = static_cast<int>(0.1 * path.intervals);
  L sum = 0;
  for (int i = cut; i <= path.intervals - cut; ++i) sum += path.at(i);
  return sum / L(path.intervals - 2 * cut + 1);
}

/// S3. The elevation of a point is compared without a division: z - x^2 / 2a against the best elevation times x.
template <class L>
SHAKEDOWN_LANES void find_horizons(const Profiles<L>& path, Geometry<L>& geometry) {
  const L half = geometry.curvature_per_m * L(0.5), distance = geometry.distance_m;
  const L tx = path.at(0) + path.antenna_m[0], rx = path.at(path.intervals) + path.antenna_m[1];
  L best_tx = (rx - tx) / distance - distance * half, best_rx = (tx - rx) / distance - distance * half;
  L at_tx = distance, at_rx = distance, x = 0, y = distance;
  for (int i = 1; i < path.intervals; ++i) {
    x += path.step_m;
    y -= path.step_m;
    const L z = path.at(i);
    const L rise_tx = (z - tx) - x * x * half, rise_rx = (z - rx) - y * y * half;
    const auto blocked_tx = rise_tx > best_tx * x, blocked_rx = rise_rx > best_rx * y;
    if ((blocked_tx | blocked_rx).any()) {
      best_tx = select(blocked_tx, rise_tx / x, best_tx);
      at_tx = select(blocked_tx, x, at_tx);
      best_rx = select(blocked_rx, rise_rx / y, best_rx);
      at_rx = select(blocked_rx, y, at_rx);
    }
  }
  geometry.horizon_rad[0] = best_tx;
  geometry.horizon_rad[1] = best_rx;
  geometry.horizon_m[0] = at_tx;
  geometry.horizon_m[1] = at_rx;
}

/// A straight line by least squares: its heights at the two ends of what it was fitted in.
template <class L>
struct Line {
  L left, right;
};

/// S6: the indices between which the line is fitted.
template <class L>
struct Range {
  L first, last, middle;
};
template <class L>
SHAKEDOWN_LANES Range<L> range_of(L from, L to, int intervals) {  // in steps
  const L all = intervals;
  L first = floor(larger(from, L(0))), last = all - floor(larger(all - to, L(0)));
  const auto empty = last <= first;
  first = select(empty, larger(first - L(1), L(0)), first);
  last = select(empty, all - larger(all - (last + L(1)), L(0)), last);
  return {first, last, last - (last - first) * L(0.5)};
}

/// S6: the line from its range and the sums over the points inside: of heights, and of heights times their distance
/// from the middle.
template <class L>
SHAKEDOWN_LANES Line<L> line_of(const Range<L>& range, L first_m, L last_m, L sum, L moment, L intervals) {
  const L width = range.last - range.first;
  sum += (first_m + last_m) * L(0.5);
  moment += (last_m - first_m) * width * L(0.5) * L(0.5);
  const L mean = sum / width, slope = L(12) * moment / ((width * width + L(2)) * width);
  return {mean - slope * range.middle, mean + slope * (intervals - range.middle)};
}

/// The height at an index of each lane's own.
template <class L>
SHAKEDOWN_LANES L pick(const Profiles<L>& path, L index) {
  return gather<typename L::Real, L::kWidth>(path.heights_m, whole(index * L(L::kWidth)) + lane_numbers<L>());
}

/// Lines through two parts of the profile at once, each by one pass over all points.
template <class L>
SHAKEDOWN_LANES void fit_two(const Profiles<L>& path, const Range<L>& a, const Range<L>& b, Line<L>& line_a,
                             Line<L>& line_b) {
  L sum_a = 0, moment_a = 0, sum_b = 0, moment_b = 0, j = 0;
  for (int i = 1; i < path.intervals; ++i) {
    j += L(1);
    const L z = path.at(i);
    const L in_a = select((j > a.first) & (j < a.last), z, L(0)), in_b = select((j > b.first) & (j < b.last), z, L(0));
    sum_a += in_a;
    moment_a += in_a * (j - a.middle);
    sum_b += in_b;
    moment_b += in_b * (j - b.middle);
  }
  line_a = line_of(a, pick(path, a.first), pick(path, a.last), sum_a, moment_a, L(path.intervals));
  line_b = line_of(b, pick(path, b.first), pick(path, b.last), sum_b, moment_b, L(path.intervals));
}

/// S5: how much the terrain between two distances departs from a straight line.
template <class L>
SHAKEDOWN_LANES L terrain_irregularity(const Profiles<L>& path, L from_m, L to_m) {
  using Real = typename L::Real;
  const L begin = from_m / path.step_m, end = to_m / path.step_m;
  const auto long_enough = end - begin >= L(2);
  if (!long_enough.any()) return L(0);
  const L rank = smaller(larger(floor(L(0.1) * (end - begin + L(8))), L(4)), L(25));
  const L count = L(10) * rank - L(5), width = count - L(1), stride = (end - begin) / width;
  int ranks[L::kWidth], most = 0;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    ranks[lane] = static_cast<int>(rank[lane]);
    if (static_cast<int>(count[lane]) > most) most = static_cast<int>(count[lane]);
  }
  Real samples[kMostSamples * L::kWidth];
  // The position is kept as the offset from the next point of the grid, as in the reference.
  L cell = floor(begin), offset = begin - (cell + L(1)), sum = 0, moment = 0, j = 0;
  const L last_cell = path.intervals - 1, middle = width * L(0.5);
  L first = 0, last = 0;
  for (int i = 0; i < most; ++i) {
    for (auto step = (offset > L(0)) & (cell < last_cell); step.any(); step = (offset > L(0)) & (cell < last_cell)) {
      offset = select(step, offset - L(1), offset);
      cell = select(step, cell + L(1), cell);
    }
    const L low = pick(path, cell), high = pick(path, cell + L(1));
    const L z = high + (high - low) * offset;
    z.store(samples + static_cast<long>(i) * L::kWidth);
    const auto inside = (j > L(0)) & (j < width);
    const L counted = select(inside, z, L(0));
    sum += counted;
    moment += counted * (j - middle);
    first = select(j <= L(0), z, first);
    last = select((j >= width) & (j <= width), z, last);
    offset += stride;
    j += L(1);
  }
  const Line<L> fitted = line_of(Range<L>{L(0), width, middle}, first, last, sum, moment, width);
  const L slope = (fitted.right - fitted.left) / width;
  L line = fitted.left;
  for (int i = 0; i < most; ++i) {
    const long at = static_cast<long>(i) * L::kWidth;
    (L::load(samples + at) - line).store(samples + at);
    line += slope;
  }
  const L decile = spread(samples, most, count, ranks);
  return select(long_enough, decile / (L(1) - L(0.8) * exp((from_m - to_m) * L(1 / 50e3))), L(0));
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

/// S1 to S7.
template <class L>
SHAKEDOWN_LANES Geometry<L> geometry_of(const Profiles<L>& path, const Prepared& prepared) {
  Geometry<L> geometry;
  const L distance = path.distance_m();
  geometry.distance_m = distance;
  for (int end = 0; end < 2; ++end) geometry.antenna_m[end] = path.antenna_m[end];
  const L mean = mean_height(path);
  geometry.surface_n = L(prepared.refractivity_n) * exp(mean * L(-1 / 9460.0));
  geometry.curvature_per_m = curvature_of(geometry.surface_n);
  find_horizons(path, geometry);
  const L* at = geometry.horizon_m;
  const L from = smaller(L(15) * path.antenna_m[0], L(0.1) * at[0]);
  const L to = distance - smaller(L(15) * path.antenna_m[1], L(0.1) * at[1]);
  geometry.delta_h_m = terrain_irregularity(path, from, to);

  const auto clear = at[0] + at[1] > L(1.5) * distance;
  const L first_end = select(clear, to, L(0.9) * at[0]), second_begin = select(clear, from, distance - L(0.9) * at[1]);
  Line<L> at_tx, at_rx;
  fit_two(path, range_of(from / path.step_m, first_end / path.step_m, path.intervals),
          range_of(second_begin / path.step_m, to / path.step_m, path.intervals), at_tx, at_rx);
  geometry.effective_m[0] = path.antenna_m[0] + larger(path.at(0) - at_tx.left, L(0));
  geometry.effective_m[1] = path.antenna_m[1] + larger(path.at(path.intervals) - at_rx.right, L(0));

  Geometry<L> smooth = geometry;
  smooth_horizons(smooth);
  const L reach = smooth.horizon_m[0] + smooth.horizon_m[1];
  const L nearer = distance / reach;
  const L factor = select(reach <= distance, nearer * nearer, L(1));
  for (int end = 0; end < 2; ++end) smooth.effective_m[end] *= factor;
  smooth_horizons(smooth);
  for (int end = 0; end < 2; ++end) {
    geometry.effective_m[end] = select(clear, smooth.effective_m[end], geometry.effective_m[end]);
    geometry.horizon_m[end] = select(clear, smooth.horizon_m[end], geometry.horizon_m[end]);
    geometry.horizon_rad[end] = select(clear, smooth.horizon_rad[end], geometry.horizon_rad[end]);
  }
  return geometry;
}

}  // namespace shakedown::radio
