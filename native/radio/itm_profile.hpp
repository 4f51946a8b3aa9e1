// The passes over profiles in the lanes of a register: what S1 to S7 of README.md need of all points.
//
// What decides by whole points (horizons, ranges, how many samples) is found in double precision whatever the lanes
// are, part by part: in single precision an exact tie or a range that ends on a point would fall either way.
#pragma once

#include "itm_geometry.hpp"
#include "order.hpp"
#include "parts.hpp"

namespace shakedown::radio {

/// Links side by side over profiles with as many intervals each: heights_m holds (intervals + 1) rows of a height a
/// lane, above a level of the lane's own.
template <class L>
struct Profiles {
  using D = Deciding<L>;
  const typename L::Real* heights_m;
  int intervals;
  D step_m[kParts<L>];
  D antenna_m[2][kParts<L>];  // above ground, transmitter and receiver
  D level_m[kParts<L>];       // above sea level

  [[nodiscard]] SHAKEDOWN_LANES const typename L::Real* row(int point) const {
    return heights_m + static_cast<long>(point) * L::kWidth;
  }
  [[nodiscard]] SHAKEDOWN_LANES L at(int point) const { return L::load(row(point)); }
  [[nodiscard]] SHAKEDOWN_LANES D part_at(int point, int part) const { return load_part<L>(row(point), part); }
};

/// S1: the mean height of the profile without a tenth of its points at each end, above its level.
template <class L>
SHAKEDOWN_LANES L mean_height(const Profiles<L>& path) {
  const int cut = static_cast<int>(0.1 * path.intervals);
  L sum = 0;
  for (int i = cut; i <= path.intervals - cut; ++i) sum += path.at(i);
  return sum / L(path.intervals - 2 * cut + 1);
}

/// S3. The elevation of a point is compared without a division: z - x^2 / 2a against the best elevation times x.
template <class L, class D>
SHAKEDOWN_LANES void find_horizons(const Profiles<L>& path, int part, Geometry<D>& geometry) {
  const D half = geometry.curvature_per_m * D(0.5), distance = geometry.distance_m, step = path.step_m[part];
  const D tx = path.part_at(0, part) + geometry.antenna_m[0];
  const D rx = path.part_at(path.intervals, part) + geometry.antenna_m[1];
  D best_tx = (rx - tx) / distance - distance * half, best_rx = (tx - rx) / distance - distance * half;
  D at_tx = distance, at_rx = distance, x = 0, y = distance;
  for (int i = 1; i < path.intervals; ++i) {
    x += step;
    y -= step;
    const D z = path.part_at(i, part);
    const D rise_tx = (z - tx) - x * x * half, rise_rx = (z - rx) - y * y * half;
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

/// The height at an index of each lane's own.
template <class L>
SHAKEDOWN_LANES L pick(const Profiles<L>& path, L index) {
  return gather<typename L::Real, L::kWidth>(path.heights_m, whole(index * L(L::kWidth)) + lane_numbers<L>());
}

/// S6: the line from the sums over the points inside its range, and the heights at its ends.
template <class L>
SHAKEDOWN_LANES Line<L> line_of(const FitRange<L>& range, L first_m, L last_m, L sum, L moment, L intervals) {
  const L width = range.last - range.first;
  sum += (first_m + last_m) * L(0.5);
  moment += (last_m - first_m) * width * L(0.5) * L(0.5);
  return line_of_sums(range, sum, moment, intervals);
}

/// S6: the line through a part of the profile, by one pass over the points that any lane has inside.
template <class L>
SHAKEDOWN_LANES Line<L> fit(const Profiles<L>& path, const FitRange<L>& range) {
  int first = path.intervals, last = 0;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    const int low = static_cast<int>(range.first[lane]), high = static_cast<int>(range.last[lane]);
    if (low < first) first = low;
    if (high > last) last = high;
  }
  L sum = 0, moment = 0, j = first;
  for (int i = first + 1; i < last; ++i) {
    j += L(1);
    const L inside = select((j > range.first) & (j < range.last), path.at(i), L(0));
    sum += inside;
    moment += inside * (j - range.middle);
  }
  return line_of(range, pick(path, range.first), pick(path, range.last), sum, moment, L(path.intervals));
}

/// S5: where the samples of the irregularity lie: from, how many, how far between, in steps of the profile.
template <class D>
struct Spacing {
  D begin, rank, stride;
  typename D::Truth long_enough;
};
template <class D>
SHAKEDOWN_LANES Spacing<D> spacing_of(const Part<D>& part, D step_m) {
  const D begin = part.from_m / step_m, end = part.to_m / step_m;
  const D rank = decile_rank(end - begin);
  return {begin, rank, (end - begin) / (D(10) * rank - D(6)), end - begin >= D(2)};
}

/// Heights at two neighbouring points of each lane's own. Lanes are mostly at the same few points: their rows are read
/// as they lie, and each lane takes its own.
template <class L>
SHAKEDOWN_LANES void pick_pair(const Profiles<L>& path, L cell, L& low, L& high) {
  constexpr int kRows = 3;  // cells that are looked at
  const int most = path.intervals - kRows;
  if (most >= 0) {
    int first = static_cast<int>(cell[0]) - 1;
    first = first < 0 ? 0 : first > most ? most : first;
    const L off = cell - L(first);
    if (!((off < L(0)) | (off > L(kRows - 1))).any()) {
      const auto second = off > L(0), third = off > L(1);
      const L rows[kRows + 1] = {path.at(first), path.at(first + 1), path.at(first + 2), path.at(first + 3)};
      low = select(third, rows[2], select(second, rows[1], rows[0]));
      high = select(third, rows[3], select(second, rows[2], rows[1]));
      return;
    }
  }
  low = pick(path, cell);
  high = pick(path, cell + L(1));
}

/// S5: how much the terrain of a part departs from a straight line: the range between its deciles.
template <class L>
SHAKEDOWN_LANES L terrain_decile(const Profiles<L>& path, const Spacing<Deciding<L>> (&spacings)[kParts<L>]) {
  using Real = typename L::Real;
  using D = Deciding<L>;
  D cells[kParts<L>], offsets[kParts<L>], strides[kParts<L>], all_ranks[kParts<L>];
  for (int part = 0; part < kParts<L>; ++part) {
    // The position is kept as the offset from the next point of the profile, as in the reference.
    cells[part] = floor(spacings[part].begin);
    offsets[part] = spacings[part].begin - (cells[part] + D(1));
    strides[part] = spacings[part].stride;
    all_ranks[part] = spacings[part].rank;
  }
  L cell = join<L>(cells), offset = join<L>(offsets);
  const L stride = join<L>(strides), rank = join<L>(all_ranks);
  const L count = L(10) * rank - L(5), width = count - L(1);
  int ranks[L::kWidth], most = 0;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    ranks[lane] = static_cast<int>(rank[lane]);
    if (static_cast<int>(count[lane]) > most) most = static_cast<int>(count[lane]);
  }
  Real samples[kMostSamples * L::kWidth];
  const L last_cell = path.intervals - 1, middle = width * L(0.5);
  L first = 0, last = 0, sum = 0, moment = 0, j = 0;
  for (int i = 0; i < most; ++i) {
    // As many whole steps as lie before the position, but none beyond the last cell.
    const L steps = smaller(-floor(-larger(offset, L(0))), last_cell - cell);
    offset -= steps;
    cell += steps;
    L low, high;
    pick_pair(path, cell, low, high);
    const L z = high + (high - low) * offset;
    z.store(samples + static_cast<long>(i) * L::kWidth);
    const L counted = i == 0 ? L(0) : select(j < width, z, L(0));
    sum += counted;
    moment += counted * (j - middle);
    if (i == 0) first = z;
    last = select((j >= width) & (j <= width), z, last);
    offset += stride;
    j += L(1);
  }
  const Line<L> fitted = line_of(FitRange<L>{L(0), width, middle}, first, last, sum, moment, width);
  // Over smooth ground the model takes the root of what is left, rounding included: in double precision that is the
  // reference's own, in single the line is taken from the middle outwards, which rounds least.
  const L slope = (fitted.right - fitted.left) / width, mean = (fitted.right + fitted.left) * L(0.5);
  L line = fitted.left;
  for (int i = 0; i < most; ++i) {
    const long at = static_cast<long>(i) * L::kWidth;
    const L z = L::load(samples + at);
    const L left = sizeof(Real) == 8 ? z - line : z - mean - slope * (L(i) - middle);
    left.store(samples + at);
    line += slope;
  }
  return spread(samples, most, count, ranks);
}

/// S1 to S4 of a part of the lanes.
template <class L>
SHAKEDOWN_LANES Geometry<Deciding<L>> horizons_of(const Profiles<L>& path, int part, const Prepared& prepared,
                                                  Deciding<L> mean_m) {
  using D = Deciding<L>;
  Geometry<D> geometry;
  geometry.distance_m = path.step_m[part] * D(path.intervals);
  for (int end = 0; end < 2; ++end) geometry.antenna_m[end] = path.antenna_m[end][part];
  geometry.surface_n = surface_refractivity(prepared, mean_m + path.level_m[part]);
  geometry.curvature_per_m = curvature_of(geometry.surface_n);
  find_horizons(path, part, geometry);
  return geometry;
}

/// One quantity of all parts in the lanes.
template <class L, class Of>
SHAKEDOWN_LANES L joined(const Of& of) {
  Deciding<L> parts[kParts<L>];
  for (int part = 0; part < kParts<L>; ++part) parts[part] = of(part);
  return join<L>(parts);
}

/// The geometry of all parts in the lanes; irregularity and effective heights are still to be found.
template <class L>
SHAKEDOWN_LANES Geometry<L> joined_geometry(const Geometry<Deciding<L>> (&parts)[kParts<L>]) {
  Geometry<L> geometry;
  geometry.distance_m = joined<L>([&](int part) { return parts[part].distance_m; });
  geometry.surface_n = joined<L>([&](int part) { return parts[part].surface_n; });
  geometry.curvature_per_m = joined<L>([&](int part) { return parts[part].curvature_per_m; });
  for (int end = 0; end < 2; ++end) {
    geometry.antenna_m[end] = joined<L>([&](int part) { return parts[part].antenna_m[end]; });
    geometry.horizon_rad[end] = joined<L>([&](int part) { return parts[part].horizon_rad[end]; });
    geometry.horizon_m[end] = joined<L>([&](int part) { return parts[part].horizon_m[end]; });
  }
  return geometry;
}

template <class L>
SHAKEDOWN_LANES FitRange<L> joined_range(const FitRange<Deciding<L>> (&parts)[kParts<L>]) {
  return {joined<L>([&](int part) { return parts[part].first; }), joined<L>([&](int part) { return parts[part].last; }),
          joined<L>([&](int part) { return parts[part].middle; })};
}

/// S1 to S7.
template <class L>
SHAKEDOWN_LANES Geometry<L> geometry_of(const Profiles<L>& path, const Prepared& prepared) {
  using D = Deciding<L>;
  const L mean = mean_height(path);
  Geometry<D> parts[kParts<L>];
  Spacing<D> spacings[kParts<L>];
  FitRange<D> near_tx[kParts<L>], near_rx[kParts<L>];
  typename D::Truth clear[kParts<L>], long_enough[kParts<L>];
  D trims[kParts<L>];
  for (int i = 0; i < kParts<L>; ++i) {
    parts[i] = horizons_of(path, i, prepared, part_of(mean, i));
    const Part<D> part = trimmed(parts[i]);
    spacings[i] = spacing_of(part, path.step_m[i]);
    long_enough[i] = spacings[i].long_enough;
    fit_ranges(parts[i], part, path.step_m[i], path.intervals, near_tx[i], near_rx[i]);
    clear[i] = is_clear(parts[i]);
    trims[i] = part.from_m - part.to_m;
  }
  Geometry<L> geometry = joined_geometry<L>(parts);
  const auto sampled = join_truths<L>(long_enough);
  geometry.delta_h_m = 0;
  if (sampled.any()) {
    const L decile = terrain_decile(path, spacings);
    geometry.delta_h_m = select(sampled, whole_irregularity(decile, Part<L>{join<L>(trims), L(0)}), L(0));
  }
  const Line<L> at_tx = fit(path, joined_range<L>(near_tx)), at_rx = fit(path, joined_range<L>(near_rx));
  raise_antennas(geometry, join_truths<L>(clear), path.at(0) - at_tx.left, path.at(path.intervals) - at_rx.right);
  return geometry;
}

}  // namespace shakedown::radio
