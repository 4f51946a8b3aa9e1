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

/// S1: the mean height of the profile without a tenth of its points at each end, above its level. Four sums, so that
/// one need not wait for the other.
template <class L>
SHAKEDOWN_LANES L mean_height(const Profiles<L>& path) {
  constexpr int kSums = 4;
  const int cut = static_cast<int>(0.1 * path.intervals), count = path.intervals - 2 * cut + 1;
  L sums[kSums] = {0, 0, 0, 0};
  int i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int k = 0; k < kSums; ++k) sums[k] += path.at(cut + i + k);
  }
  for (int k = 0; i < count; ++i, ++k) sums[k] += path.at(cut + i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / L(count);
}

/// S3 of a part of the lanes, on the way from point to point. x, y: distances to the ends, kept by adding and
/// subtracting steps as in the reference.
template <class D>
struct HorizonSearch {
  D half, step, tx, rx;  // curvature, m, heights of the antennas in m
  D best_tx, best_rx, at_tx, at_rx, x, y;
};

/// Points that are passed over together where the highest of them is no horizon of any lane.
constexpr int kPassedOver = 8;

template <class L, class D>
SHAKEDOWN_LANES HorizonSearch<D> begin_search(const Profiles<L>& path, int part, const Geometry<D>& geometry) {
  HorizonSearch<D> search;
  const D distance = geometry.distance_m;
  search.half = geometry.curvature_per_m * D(0.5);
  search.step = path.step_m[part];
  search.tx = path.part_at(0, part) + geometry.antenna_m[0];
  search.rx = path.part_at(path.intervals, part) + geometry.antenna_m[1];
  search.best_tx = (search.rx - search.tx) / distance - distance * search.half;
  search.best_rx = (search.tx - search.rx) / distance - distance * search.half;
  search.at_tx = search.at_rx = search.y = distance;
  search.x = 0;
  return search;
}

/// Whether none of the next points is a horizon, `top` the highest of them; then they are passed. Rounding keeps the
/// order of numbers: no elevation that `horizons_among` would find is above the one that is compared here.
template <class D>
SHAKEDOWN_LANES bool pass_over(HorizonSearch<D>& search, D top) {
  const D nearest_x = search.x + search.step, farthest_y = search.y - search.step;
  D x = nearest_x, y = farthest_y;
  for (int i = 1; i < kPassedOver; ++i) {
    x += search.step;
    y -= search.step;
  }
  const D rise_tx = (top - search.tx) - nearest_x * nearest_x * search.half;
  const D rise_rx = (top - search.rx) - y * y * search.half;
  const auto blocked_tx = rise_tx > smaller(search.best_tx * nearest_x, search.best_tx * x);
  const auto blocked_rx = rise_rx > smaller(search.best_rx * farthest_y, search.best_rx * y);
  if ((blocked_tx | blocked_rx).any()) return false;
  search.x = x;
  search.y = y;
  return true;
}

/// The elevation of a point is compared without a division: z - x^2 / 2a against the best elevation times x.
template <class L, class D>
SHAKEDOWN_LANES void horizons_among(const Profiles<L>& path, int part, int begin, int end, HorizonSearch<D>& search) {
  for (int i = begin; i < end; ++i) {
    search.x += search.step;
    search.y -= search.step;
    const D z = path.part_at(i, part), x = search.x, y = search.y;
    const D rise_tx = (z - search.tx) - x * x * search.half, rise_rx = (z - search.rx) - y * y * search.half;
    const auto blocked_tx = rise_tx > search.best_tx * x, blocked_rx = rise_rx > search.best_rx * y;
    if ((blocked_tx | blocked_rx).any()) {
      search.best_tx = select(blocked_tx, rise_tx / x, search.best_tx);
      search.at_tx = select(blocked_tx, x, search.at_tx);
      search.best_rx = select(blocked_rx, rise_rx / y, search.best_rx);
      search.at_rx = select(blocked_rx, y, search.at_rx);
    }
  }
}

/// S3.
template <class L, class D>
SHAKEDOWN_LANES void find_horizons(const Profiles<L>& path, Geometry<D> (&geometry)[kParts<L>]) {
  HorizonSearch<D> searches[kParts<L>];
  for (int part = 0; part < kParts<L>; ++part) searches[part] = begin_search(path, part, geometry[part]);
  int begin = 1;
  for (; begin + kPassedOver <= path.intervals; begin += kPassedOver) {
    L top = path.at(begin);
    for (int i = 1; i < kPassedOver; ++i) top = larger(path.at(begin + i), top);
    for (int part = 0; part < kParts<L>; ++part) {
      if (pass_over(searches[part], part_of(top, part))) continue;
      horizons_among(path, part, begin, begin + kPassedOver, searches[part]);
    }
  }
  for (int part = 0; part < kParts<L>; ++part) {
    horizons_among(path, part, begin, path.intervals, searches[part]);
    geometry[part].horizon_rad[0] = searches[part].best_tx;
    geometry[part].horizon_rad[1] = searches[part].best_rx;
    geometry[part].horizon_m[0] = searches[part].at_tx;
    geometry[part].horizon_m[1] = searches[part].at_rx;
  }
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

/// S6: the line through a part of the profile, by one pass over the points that any lane has inside; those that all
/// lanes have inside are most of them.
template <class L>
SHAKEDOWN_LANES Line<L> fit(const Profiles<L>& path, const FitRange<L>& range) {
  int first = path.intervals, last = 0, all_first = 0, all_last = path.intervals;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    const int low = static_cast<int>(range.first[lane]), high = static_cast<int>(range.last[lane]);
    first = low < first ? low : first;
    last = high > last ? high : last;
    all_first = low > all_first ? low : all_first;
    all_last = high < all_last ? high : all_last;
  }
  if (all_first >= all_last) all_first = all_last = last;  // nothing is inside of all
  L sum = 0, moment = 0, j = first;
  int i = first + 1;
  const auto some_inside = [&](int end) {
    for (; i < end; ++i) {
      j += L(1);
      const L inside = select((j > range.first) & (j < range.last), path.at(i), L(0));
      sum += inside;
      moment += inside * (j - range.middle);
    }
  };
  some_inside(all_first + 1 < last ? all_first + 1 : last);
  for (; i < all_last; ++i) {
    j += L(1);
    const L z = path.at(i);
    sum += z;
    moment += z * (j - range.middle);
  }
  some_inside(last);
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
  const int first = static_cast<int>(cell[0]) - 1;
  if (first >= 0 && first + 3 <= path.intervals) {
    const L off = cell - L(static_cast<double>(cell[0]));
    if (!((off < L(-1)) | (off > L(1))).any()) {
      const auto second = off > L(-1), third = off > L(0);
      const L rows[] = {path.at(first), path.at(first + 1), path.at(first + 2), path.at(first + 3)};
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
  int ranks[L::kWidth], most = 0, least = kMostSamples;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    const int samples_here = static_cast<int>(count[lane]);
    ranks[lane] = static_cast<int>(rank[lane]);
    most = samples_here > most ? samples_here : most;
    least = samples_here < least ? samples_here : least;
  }
  Real samples[kMostSamples * L::kWidth];
  const L last_cell = path.intervals - 1, middle = width * L(0.5);
  const auto take = [&](int i) {
    // As many whole steps as lie before the position, but none beyond the last cell.
    const L steps = smaller(-floor(-larger(offset, L(0))), last_cell - cell);
    offset -= steps;
    cell += steps;
    L low, high;
    pick_pair(path, cell, low, high);
    const L z = high + (high - low) * offset;
    z.store(samples + static_cast<long>(i) * L::kWidth);
    offset += stride;
    return z;
  };
  const L first = take(0);
  L last = first, sum = 0, moment = 0, j = 0;
  int i = 1;
  for (; i < least - 1; ++i) {  // inside of every lane's
    const L z = take(i);
    j += L(1);
    sum += z;
    moment += z * (j - middle);
  }
  for (; i < most; ++i) {
    const L z = take(i);
    j += L(1);
    const L counted = select(j < width, z, L(0));
    sum += counted;
    moment += counted * (j - middle);
    last = select((j >= width) & (j <= width), z, last);
  }
  const Line<L> fitted = line_of(FitRange<L>{L(0), width, middle}, first, last, sum, moment, width);
  // Over smooth ground the model takes the root of what is left, rounding included: in double precision that is the
  // reference's own, in single the line is taken from the middle outwards, which rounds least.
  const L slope = (fitted.right - fitted.left) / width, mean = (fitted.right + fitted.left) * L(0.5);
  L line = fitted.left;
  for (i = 0; i < most; ++i) {
    const long at = static_cast<long>(i) * L::kWidth;
    const L z = L::load(samples + at);
    const L left = sizeof(Real) == 8 ? z - line : z - mean - slope * (L(i) - middle);
    left.store(samples + at);
    line += slope;
  }
  return spread(samples, most, count, ranks);
}

/// S1 and S2 of a part of the lanes.
template <class L>
SHAKEDOWN_LANES Geometry<Deciding<L>> begin_of(const Profiles<L>& path, int part, const Prepared& prepared,
                                               Deciding<L> mean_m) {
  using D = Deciding<L>;
  Geometry<D> geometry;
  geometry.distance_m = path.step_m[part] * D(path.intervals);
  for (int end = 0; end < 2; ++end) geometry.antenna_m[end] = path.antenna_m[end][part];
  geometry.surface_n = surface_refractivity(prepared, mean_m + path.level_m[part]);
  geometry.curvature_per_m = curvature_of(geometry.surface_n);
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
  for (int i = 0; i < kParts<L>; ++i) parts[i] = begin_of(path, i, prepared, part_of(mean, i));
  find_horizons(path, parts);
  for (int i = 0; i < kParts<L>; ++i) {
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
