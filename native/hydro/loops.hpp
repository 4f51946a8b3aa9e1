// A step of a tile in one pass over its rows: a row that was read is advanced along x, a few rows of what comes out
// stay in the cache, and as soon as their neighbours are there a row is advanced along y and written (or the other way
// round). So memory is read once and written once a step. The rows and columns next to the tile are advanced along the
// first dimension too, each tile for itself: nothing is shared between tiles, and no cell's result depends on them.
#pragma once

#include <array>

#include "scheme.hpp"

namespace shakedown::hydro {

template <class L>
class Pass {
  using S = Scheme<L>;
  using V = typename L::V;
  static constexpr std::int64_t kLanes = L::kLanes;
  using Row = std::array<const double*, kVariables>;
  using RowOut = std::array<double*, kVariables>;

 public:
  Pass(const Step& step, const Tile& tile, double* scratch)
      : step_(step),
        tile_(tile),
        scratch_(scratch),
        width_(tile.right - tile.left),
        dt_dx_(S::set(step.dt_dx)),
        half_(S::set(step.dt_dx / 2)) {}

  Advanced run() {
    if (step_.split == Split::x_first) {
      for (auto row = tile_.low - kGhosts; row < tile_.high + kGhosts; ++row) x_then_y(row);
    } else {
      for (auto row = tile_.low - kGhosts; row < tile_.high + kGhosts; ++row) y_then_x(row);
    }
    found_.fastest = L::largest(fastest_);
    return found_;
  }

  static double fastest(const Field& field, const Tile& tile) {
    V most = S::set(0);
    for (auto row = tile.low; row < tile.high; ++row) {
      Row from;
      for (int v = 0; v < kVariables; ++v) from[v] = field.line(row, v) + tile.left;
      for (std::int64_t i = 0; i < tile.right - tile.left; i += kLanes) {
        take(most, S::fastest(along_x(from, i)), i, tile.right - tile.left);
      }
    }
    return L::largest(most);
  }

 private:
  // Lines of the scratch, each with room for 8 cells before the tile's and 24 after.
  enum Line : int {
    kWindow = 0,              // primitive variables and volumes of three rows, five lines each
    kKept = kWindow + 15,     // amounts of three rows
    kHigh = kKept + 12,       // states on the upper faces of the row before
    kBelow = kHigh + 4,       // fluxes through the faces below
    kAlong = kBelow + 4,      // of the sweep along x: primitive variables and volumes,
    kLeftFaces = kAlong + 5,  // states on left faces,
    kRightFaces = kLeftFaces + 4,
    kThrough = kRightFaces + 4,  // fluxes,
    kBetween = kThrough + 4,     // and what came out of the sweep along y
    kLines = kBetween + 4
  };
  static_assert(kLines * kScratchLine == kScratch);

  [[nodiscard]] double* line(int number) const {
    return scratch_ + static_cast<std::size_t>(number) * kScratchLine + Field::kLead;
  }
  [[nodiscard]] static int slot(std::int64_t row) { return static_cast<int>((row + 3 * kGhosts) % 3); }
  [[nodiscard]] int window(std::int64_t row) const { return kWindow + 5 * slot(row - tile_.low); }
  [[nodiscard]] Row kept(std::int64_t row) const {
    Row out;
    for (int v = 0; v < kVariables; ++v) out[v] = line(kKept + 4 * slot(row - tile_.low) + v);
    return out;
  }
  [[nodiscard]] Row source(std::int64_t row) const {
    Row out;
    for (int v = 0; v < kVariables; ++v) out[v] = step_.from->line(row, v) + tile_.left;
    return out;
  }
  [[nodiscard]] RowOut target(std::int64_t row) const {
    RowOut out;
    for (int v = 0; v < kVariables; ++v) out[v] = step_.to->line(row, v) + tile_.left;
    return out;
  }
  [[nodiscard]] RowOut lines(int first) const {
    RowOut out;
    for (int v = 0; v < kVariables; ++v) out[v] = line(first + v);
    return out;
  }

  SHAKEDOWN_INLINE static Amounts<V> along_x(const Row& from, std::int64_t i) {
    return {L::load(from[kMass] + i), L::load(from[kAlongX] + i), L::load(from[kAlongY] + i),
            L::load(from[kEnergy] + i)};
  }
  SHAKEDOWN_INLINE static Amounts<V> along_y(const Row& from, std::int64_t i) {
    return {L::load(from[kMass] + i), L::load(from[kAlongY] + i), L::load(from[kAlongX] + i),
            L::load(from[kEnergy] + i)};
  }
  SHAKEDOWN_INLINE Primitive<V> four(int first, std::int64_t i) const {
    return {L::load(line(first) + i), L::load(line(first + 1) + i), L::load(line(first + 2) + i),
            L::load(line(first + 3) + i)};
  }
  /// The same of a row in the window, where u comes before v, for a sweep along y.
  SHAKEDOWN_INLINE Primitive<V> turned(int first, std::int64_t i) const {
    const Primitive<V> q = four(first, i);
    return {q.r, q.t, q.n, q.p};
  }
  SHAKEDOWN_INLINE void put(int first, std::int64_t i, const Primitive<V>& q) const {
    L::store(line(first) + i, q.r);
    L::store(line(first + 1) + i, q.n);
    L::store(line(first + 2) + i, q.t);
    L::store(line(first + 3) + i, q.p);
  }
  SHAKEDOWN_INLINE void put_flux(int first, std::int64_t i, const Amounts<V>& f) const {
    put(first, i, {f.r, f.n, f.t, f.e});
  }
  SHAKEDOWN_INLINE void put_primitive(int first, std::int64_t i, const Amounts<V>& u) const {
    V each;
    put(first, i, S::primitive(u, each));
    L::store(line(first + 4) + i, each);
  }
  SHAKEDOWN_INLINE Amounts<V> changed(const Amounts<V>& u, const Amounts<V>& in, const Amounts<V>& out) const {
    return {u.r + dt_dx_ * (in.r - out.r), u.n + dt_dx_ * (in.n - out.n), u.t + dt_dx_ * (in.t - out.t),
            u.e + dt_dx_ * (in.e - out.e)};
  }
  SHAKEDOWN_INLINE static void take(V& most, V speed, std::int64_t i, std::int64_t width) {
    // Lanes beyond the last cell hold what nobody asked for.
    most = L::most(S::choose(L::below(i, width), speed, S::set(0)), most);
  }

  /// Advance the tile's cells of a row along x. `then(i, cells)` is told what came out.
  template <class Then>
  SHAKEDOWN_INLINE void along(const Row& from, Then&& then) {
    const auto width = width_;
    for (std::int64_t i = -kGhosts; i < width + kGhosts; i += kLanes) put_primitive(kAlong, i, along_x(from, i));
    for (std::int64_t i = -1; i < width + 1; i += kLanes) {
      Primitive<V> low, high;
      S::faces(four(kAlong, i - 1), four(kAlong, i), four(kAlong, i + 1), L::load(line(kAlong + 4) + i), half_, low,
               high);
      put(kLeftFaces, i, low);
      put(kRightFaces, i, high);
    }
    for (std::int64_t i = 0; i <= width; i += kLanes) {
      put_flux(kThrough, i, S::flux(four(kRightFaces, i - 1), four(kLeftFaces, i)));
    }
    for (std::int64_t i = 0; i < width; i += kLanes) {
      const Primitive<V> in = four(kThrough, i), out = four(kThrough, i + 1);
      then(i, changed(along_x(from, i), {in.r, in.n, in.t, in.p}, {out.r, out.n, out.t, out.p}));
    }
  }
  void note_x() {
    if (step_.walls.left && tile_.left == 0) found_.left += line(kThrough + 1)[0];
    if (step_.walls.right && tile_.right == step_.from->columns()) found_.right += line(kThrough + 1)[width_];
  }

  /// What is known of a row once the one above it is in the window: its faces, then the fluxes below it, then what
  /// came out for the row below.
  enum Known : std::uint8_t { faces_only, flux_too, row_below };

  template <Known known, class Then>
  SHAKEDOWN_INLINE void across(std::int64_t row, std::int64_t first, std::int64_t last, const Row& below, Then&& then) {
    const int before = window(row - 1), here = window(row), after = window(row + 1);
    for (std::int64_t i = first; i < last; i += kLanes) {
      Primitive<V> low, high;
      S::faces(turned(before, i), turned(here, i), turned(after, i), L::load(line(here + 4) + i), half_, low, high);
      if constexpr (known != faces_only) {
        const Amounts<V> through = S::flux(four(kHigh, i), low);
        if constexpr (known == row_below) {
          const Primitive<V> in = four(kBelow, i);
          then(i, changed(along_y(below, i), {in.r, in.n, in.t, in.p}, through));
        }
        put_flux(kBelow, i, through);
      }
      put(kHigh, i, high);
    }
    if constexpr (known != faces_only) note_y(row);
  }
  /// What pushed on the wall below a row.
  void note_y(std::int64_t row) {
    const bool low = step_.walls.low && row == 0, high = step_.walls.high && row == step_.from->rows();
    if (!low && !high) return;
    double sum = 0;
    for (std::int64_t i = 0; i < width_; ++i) sum += line(kBelow + 1)[i];
    (low ? found_.low : found_.high) += sum;
  }

  template <class Then>
  SHAKEDOWN_INLINE void across(std::int64_t newest, std::int64_t first, std::int64_t last, const Row& below,
                               Then&& then) {
    if (newest == tile_.low) across<faces_only>(newest - 1, first, last, below, then);
    if (newest == tile_.low + 1) across<flux_too>(newest - 1, first, last, below, then);
    if (newest >= tile_.low + 2) across<row_below>(newest - 1, first, last, below, then);
  }

  /// `row` was read: advance it along x, and the row two before it along y.
  void x_then_y(std::int64_t row) {
    const int place = window(row);
    const int amounts = kKept + 4 * slot(row - tile_.low);
    along(source(row), [&](std::int64_t i, const Amounts<V>& u) SHAKEDOWN_LAMBDA {
      put_flux(amounts, i, u);
      put_primitive(place, i, u);
    });
    if (row >= tile_.low && row < tile_.high) note_x();
    const RowOut out = target(row - 2);
    const bool speeds = step_.speeds;
    across(row, 0, width_, kept(row - 2), [&](std::int64_t i, const Amounts<V>& u) SHAKEDOWN_LAMBDA {
      L::store(out[kMass] + i, u.r);
      L::store(out[kAlongY] + i, u.n);
      L::store(out[kAlongX] + i, u.t);
      L::store(out[kEnergy] + i, u.e);
      if (speeds) take(fastest_, S::fastest(u), i, width_);
    });
  }

  /// `row` was read: advance the row two before it along y, and that along x.
  void y_then_x(std::int64_t row) {
    const Row from = source(row);
    const int place = window(row);
    for (std::int64_t i = -kGhosts; i < width_ + kGhosts; i += kLanes) put_primitive(place, i, along_x(from, i));
    const RowOut between = lines(kBetween);
    across(row, -kGhosts, width_ + kGhosts, source(row - 2), [&](std::int64_t i, const Amounts<V>& u) SHAKEDOWN_LAMBDA {
      L::store(between[kMass] + i, u.r);
      L::store(between[kAlongY] + i, u.n);
      L::store(between[kAlongX] + i, u.t);
      L::store(between[kEnergy] + i, u.e);
    });
    if (row < tile_.low + 2) return;
    const RowOut out = target(row - 2);
    const bool speeds = step_.speeds;
    along({between[0], between[1], between[2], between[3]}, [&](std::int64_t i, const Amounts<V>& u) SHAKEDOWN_LAMBDA {
      L::store(out[kMass] + i, u.r);
      L::store(out[kAlongX] + i, u.n);
      L::store(out[kAlongY] + i, u.t);
      L::store(out[kEnergy] + i, u.e);
      if (speeds) take(fastest_, S::fastest(u), i, width_);
    });
    note_x();
  }

  const Step& step_;
  const Tile& tile_;
  double* scratch_;
  std::int64_t width_;
  V dt_dx_, half_;
  V fastest_ = S::set(0);
  Advanced found_;
};

template <class L>
Advanced advance(const Step& step, const Tile& tile, double* scratch) {
  return Pass<L>(step, tile, scratch).run();
}
template <class L>
double fastest(const Field& field, const Tile& tile) {
  return Pass<L>::fastest(field, tile);
}

}  // namespace shakedown::hydro
