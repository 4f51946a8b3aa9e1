#include "ground.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "common/error.hpp"

namespace shakedown::radio {
namespace {

std::size_t pairs_of(int rows, int columns) {
  const auto across = static_cast<std::size_t>(columns);
  return (across + Ground::kColumns - 1) / Ground::kColumns * static_cast<std::size_t>(rows) * Ground::kPitch;
}

void check_grid(std::size_t count, int rows, int columns) {
  const auto at = std::to_string(rows) + " rows of " + std::to_string(columns);
  if (rows < 2 || columns < 2) throw usage("terrain of " + at + " heights", "it has two rows and two columns or more");
  const auto all = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns);
  if (count != all) throw usage("terrain of " + at + " heights has " + std::to_string(count), "give all of them");
  if (pairs_of(rows, columns) > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw usage("terrain of " + at + " heights is too large",
                "about 1,900,000,000 are the most: cut it, or take a wider grid");
  }
}

Buffer room_for(int rows, int columns, std::size_t pair) { return {pairs_of(rows, columns) * pair, Pages::huge}; }

/// Places on the very edge are on the grid, whichever way their last bits were rounded.
bool within(double steps, double most) {
  constexpr double kRounding = 1e-6;
  return steps >= -kRounding && steps <= most + kRounding;
}

/// A cubic's largest and smallest value over [0, 1] lie within those of its four control points.
bool surely_within(const double (&c)[4], double most) {
  const double second = c[0] + c[1] / 3, third = c[0] + (2 * c[1] + c[2]) / 3, last = c[0] + c[1] + c[2] + c[3];
  return within(c[0], most) && within(second, most) && within(third, most) && within(last, most);
}

double cubic_at(const double (&c)[4], double t) { return c[0] + t * (c[1] + t * (c[2] + t * c[3])); }

}  // namespace

template <class T, class IsHole>
void Ground::pack(std::span<const T> numbers, const IsHole& is_hole) {
  const auto rows = static_cast<std::size_t>(rows_), columns = static_cast<std::size_t>(columns_);
  T* pair = memory_.as<T>().data();
  for (std::size_t west = 0; west < columns; west += kColumns) {
    for (std::size_t row = 0; row < rows; ++row) {
      const T* const here = numbers.data() + row * columns;
      const T* const next = row + 1 < rows ? here + columns : here;
      for (std::size_t column = west; column <= west + kColumns; ++column, pair += 2) {
        const std::size_t at = std::min(column, columns - 1);  // beyond the edge the last column stands again
        pair[0] = here[at];
        pair[1] = next[at];
        has_holes_ = has_holes_ || is_hole(here[at]);
      }
    }
  }
}

Ground::Ground(std::span<const std::int16_t> numbers, int rows, int columns, double scale_m, double offset_m)
    : kind_(HeightKind::int16), rows_(rows), columns_(columns), scale_m_(scale_m), offset_m_(offset_m) {
  check_grid(numbers.size(), rows, columns);
  if (!(scale_m > 0) || !std::isfinite(scale_m) || !std::isfinite(offset_m)) {
    throw usage("the scale of terrain is above 0 m and its offset a number", "give both in m");
  }
  memory_ = room_for(rows, columns, 2 * sizeof(std::int16_t));
  pack(numbers, [](std::int16_t number) { return number == kNoHeight; });
}

Ground::Ground(std::span<const float> heights_m, int rows, int columns)
    : kind_(HeightKind::float32), rows_(rows), columns_(columns) {
  check_grid(heights_m.size(), rows, columns);
  memory_ = room_for(rows, columns, 2 * sizeof(float));
  pack(heights_m, [](float height) { return std::isnan(height); });
}

Route straight_route(double from_column, double from_row, double to_column, double to_row, double step_m,
                     double antenna_m) {
  const double columns = to_column - from_column, rows = to_row - from_row;
  return {{from_column, columns, 0, 0},
          {from_row, rows, 0, 0},
          std::sqrt(columns * columns + rows * rows) * step_m,
          {antenna_m, antenna_m}};
}

bool on_ground(const Route& route, const Ground& ground, int points) {
  const double last_column = ground.columns() - 1, last_row = ground.rows() - 1;
  if (surely_within(route.column, last_column) && surely_within(route.row, last_row)) return true;
  for (int i = 0; i < points; ++i) {
    const double t = static_cast<double>(i) / (points - 1);
    if (!within(cubic_at(route.column, t), last_column) || !within(cubic_at(route.row, t), last_row)) return false;
  }
  return true;
}

}  // namespace shakedown::radio
