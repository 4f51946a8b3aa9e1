// Profiles of the ground along many ways side by side: bilinear between the four corners of a cell, which are one read.
#pragma once

#include <limits>

#include "corners.hpp"
#include "ground.hpp"

namespace shakedown::radio {

/// Whether a route has a profile and a loss.
inline bool is_usable(const Route& route, const Ground& ground, int points) {
  const auto fits = [](double antenna_m) { return antenna_m >= 0.5 && antenna_m <= 3000; };
  return route.length_m > 0 && route.length_m < 1e9 && fits(route.antenna_m[0]) && fits(route.antenna_m[1]) &&
         on_ground(route, ground, points);
}

/// The ways of the links in the lanes, in the numbers that decide: double precision, part by part (see lanes.hpp).
template <class L>
struct Ways {
  Deciding<L> column[kParts<L>][4], row[kParts<L>][4], length_m[kParts<L>], antenna_m[2][kParts<L>];
  L usable;             // 1, or 0 for a way that cannot be read: another stands in its lane
  bool curved = false;  // one of them
};

template <class L>
SHAKEDOWN_LANES Ways<L> ways_of(const Route* routes, std::size_t count, const Ground& ground, int points) {
  constexpr int kPart = Deciding<L>::kWidth;
  static constexpr Route kElsewhere{{}, {}, 1000, {1, 1}};
  Ways<L> ways;
  for (int lane = 0; lane < L::kWidth; ++lane) {  // lanes that are left over do the last link again
    const auto at = static_cast<std::size_t>(lane);
    const Route& asked = routes[at < count ? at : count - 1];
    const bool usable = is_usable(asked, ground, points);
    const Route& route = usable ? asked : kElsewhere;
    const int part = lane / kPart, within = lane % kPart;
    for (int term = 0; term < 4; ++term) {
      ways.column[part][term].set(within, route.column[term]);
      ways.row[part][term].set(within, route.row[term]);
    }
    ways.length_m[part].set(within, route.length_m);
    for (int end = 0; end < 2; ++end) ways.antenna_m[end][part].set(within, route.antenna_m[end]);
    ways.usable.set(lane, usable ? 1 : 0);
    ways.curved |= route.column[2] != 0 || route.column[3] != 0 || route.row[2] != 0 || route.row[3] != 0;
  }
  return ways;
}

constexpr int kStretch = 16;  // points that are found from one place in double precision

/// The terms of a stretch of one coordinate by points from its begin, and the whole step of the grid that they count
/// from: numbers that are small, so that single precision tells places apart to 1e-5 of a step.
template <class D>
struct Stretch {
  D terms[4];
  D from;
};
template <class D>
SHAKEDOWN_LANES Stretch<D> stretch_of(const D (&c)[4], double t, double dt, int last) {
  Stretch<D> stretch;
  D* const terms = stretch.terms;
  terms[0] = c[0] + D(t) * (c[1] + D(t) * (c[2] + D(t) * c[3]));
  terms[1] = (c[1] + D(t) * (D(2) * c[2] + D(3 * t) * c[3])) * D(dt);
  terms[2] = (c[2] + D(3 * t) * c[3]) * D(dt * dt);
  terms[3] = c[3] * D(dt * dt * dt);
  const D n = kStretch;
  const D end = terms[0] + n * (terms[1] + n * (terms[2] + n * terms[3]));
  // One step to spare: what is in between bends, and is rounded.
  stretch.from = smaller(larger(floor(smaller(terms[0], end)) - D(1), D(0)), D(last));
  terms[0] -= stretch.from;
  return stretch;
}

/// Where the points of a stretch lie: the index of their cells, and how far in them.
template <class L>
struct Cells {
  std::int32_t index[kStretch * L::kWidth];
  typename L::Real right[kStretch * L::kWidth], up[kStretch * L::kWidth];
};

template <class L>
SHAKEDOWN_LANES void find_cells(const Ways<L>& ways, const Ground& ground, int begin, int count, double dt,
                                Cells<L>& cells) {
  using D = Deciding<L>;
  using Index = typename L::Index;
  D columns[4][kParts<L>], rows[4][kParts<L>], from_column[kParts<L>], from_row[kParts<L>];
  for (int part = 0; part < kParts<L>; ++part) {
    const double t = begin * dt;
    const Stretch<D> column = stretch_of(ways.column[part], t, dt, ground.columns() - 1);
    const Stretch<D> row = stretch_of(ways.row[part], t, dt, ground.rows() - 1);
    for (int term = 0; term < 4; ++term) {
      columns[term][part] = column.terms[term];
      rows[term][part] = row.terms[term];
    }
    from_column[part] = column.from;
    from_row[part] = row.from;
  }
  const L x0 = join<L>(columns[0]), x1 = join<L>(columns[1]), y0 = join<L>(rows[0]), y1 = join<L>(rows[1]);
  const L x2 = join<L>(columns[2]), x3 = join<L>(columns[3]), y2 = join<L>(rows[2]), y3 = join<L>(rows[3]);
  const Index first_column = index_of<L>(from_column), first_row = index_of<L>(from_row);
  const Index strip = Index{} + ground.strip();
  for (int i = 0; i < count; ++i) {
    const L k = i;
    L x, y;
    if (ways.curved) {
      x = x0 + k * (x1 + k * (x2 + k * x3));
      y = y0 + k * (y1 + k * (y2 + k * y3));
    } else {
      x = x0 + k * x1;
      y = y0 + k * y1;
    }
    const Index column = truncated(x), row = truncated(y);
    const Index across = first_column + column;
    const Index index = (across >> Ground::kColumnBits) * strip + (first_row + row) * Ground::kPitch +
                        (across & (Ground::kColumns - 1));  // as Ground::place has it
    __builtin_memcpy(cells.index + i * L::kWidth, &index, sizeof index);
    (x - of_index<L>(column)).store(cells.right + i * L::kWidth);
    (y - of_index<L>(row)).store(cells.up + i * L::kWidth);
  }
}

/// Asks for the memory of cells that are read soon: a path runs through more lines of it than the near caches hold.
template <class L, class T>
SHAKEDOWN_LANES void prefetch(const T* pairs, const Cells<L>& cells, int count) {
  for (int at = 0; at < count * L::kWidth; ++at) __builtin_prefetch(pairs + 2 * static_cast<long>(cells.index[at]));
}

/// The heights of a stretch above a level; `holes_met` becomes 1 where a cell with a hole was read.
template <class L, class T, bool kHoles>
SHAKEDOWN_LANES void read_stretch(const T* pairs, const Cells<L>& cells, int count, L level, L scale,
                                  typename L::Real* heights_m, L& holes_met) {
  for (int at = 0; at < count * L::kWidth; at += L::kWidth) {
    const Corners<L> c = corners_at<L>(pairs, cells.index + at);
    const L right = L::load(cells.right + at), up = L::load(cells.up + at);
    const L west = (c.south_west - level) + c.rise_west * up, east = (c.south_east - level) + c.rise_east * up;
    ((west + (east - west) * right) * scale).store(heights_m + at);
    if (kHoles) {
      const auto hole = is_hole<T>(c.south_west) | is_hole<T>(c.south_east) | is_hole<T>(c.south_west + c.rise_west) |
                        is_hole<T>(c.south_east + c.rise_east);
      holes_met = select(hole, L(1), holes_met);
    }
  }
}

/// `level` gets the number that heights count from, `holes_met` 1 where a cell with a hole was read, else 0. The memory
/// of a stretch is asked for while the one before it is read.
template <class L, class T>
[[gnu::noinline]] void sample_kind(const Ways<L>& ways, const Ground& ground, int points, typename L::Real* heights_m,
                                   L& level, L& holes_met) {
  const T* const pairs = ground.pairs<T>();
  const double dt = 1.0 / (points - 1);
  const L scale = ground.scale_m();
  const auto count_from = [&](int begin) { return begin + kStretch < points ? kStretch : points - begin; };
  Cells<L> both[2] = {};
  find_cells(ways, ground, 0, count_from(0), dt, both[0]);
  L base = 0, met = 0;
  if (sizeof(typename L::Real) < sizeof(double)) {
    base = corners_at<L>(pairs, both[0].index).south_west;
    base = select(is_hole<T>(base), L(0), base);
  }
  for (int begin = 0, turn = 0; begin < points; begin += kStretch, turn ^= 1) {
    const int next = begin + kStretch;
    if (next < points) {
      find_cells(ways, ground, next, count_from(next), dt, both[turn ^ 1]);
      prefetch(pairs, both[turn ^ 1], count_from(next));
    }
    auto* const to = heights_m + static_cast<long>(begin) * L::kWidth;
    if (ground.has_holes()) {
      read_stretch<L, T, true>(pairs, both[turn], count_from(begin), base, scale, to, met);
    } else {
      read_stretch<L, T, false>(pairs, both[turn], count_from(begin), base, scale, to, met);
    }
  }
  level = base;
  holes_met = met;
}

/// Heights along the ways at `points` equal steps with both ends, above `level_m`, which keeps them small enough for
/// single precision; true where all of them are known.
template <class L>
SHAKEDOWN_LANES typename L::Truth sample_profiles(const Ways<L>& ways, const Ground& ground, int points,
                                                  typename L::Real* heights_m, Deciding<L> (&level_m)[kParts<L>]) {
  L level, holes_met;
  if (ground.kind() == HeightKind::int16) {
    sample_kind<L, std::int16_t>(ways, ground, points, heights_m, level, holes_met);
  } else {
    sample_kind<L, float>(ways, ground, points, heights_m, level, holes_met);
  }
  for (int part = 0; part < kParts<L>; ++part) {
    level_m[part] = part_of(level, part) * Deciding<L>(ground.scale_m()) + Deciding<L>(ground.offset_m());
  }
  return (holes_met < L(1)) & (ways.usable > L(0));
}

}  // namespace shakedown::radio
