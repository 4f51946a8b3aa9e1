// Heights of the ground as the loops read them, and the way of a link through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/memory.hpp"

namespace shakedown::radio {

enum class HeightKind { int16, float32 };

constexpr std::int16_t kNoHeight = -32768;  // a height that is not known, as in SRTM; of floats, what is not a number

/// Heights above sea level at the crossings of a grid: offset + scale x number, in m. They lie in strips of kColumns
/// columns, each row by row and with the first column of the next strip, too: a path that goes from row to row reads on
/// in the same lines of memory and pages instead of a far one for every point. Beside each number lies that of the next
/// row, so that the four corners of a cell are one read of the memory: 8 bytes of int16, 16 of float32.
class Ground {
 public:
  static constexpr int kColumnBits = 3, kColumns = 1 << kColumnBits;
  static constexpr int kPitch = kColumns + 1;  // pairs in a row of a strip

  /// Throw a usage error for fewer than 2 rows or columns, a count that does not fit them, a scale that is not above 0,
  /// and for more crossings than an index of 32 bits reaches.
  Ground(std::span<const std::int16_t> numbers, int rows, int columns, double scale_m, double offset_m);
  Ground(std::span<const float> heights_m, int rows, int columns);

  [[nodiscard]] HeightKind kind() const { return kind_; }
  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int strip() const { return rows_ * kPitch; }  // pairs from one strip to the next
  [[nodiscard]] double scale_m() const { return scale_m_; }
  [[nodiscard]] double offset_m() const { return offset_m_; }
  [[nodiscard]] bool has_holes() const { return has_holes_; }

  /// The place of a crossing's pair among the pairs; that of the crossing to the east of it is the next one.
  [[nodiscard]] std::size_t place(std::size_t row, std::size_t column) const {
    return (column >> kColumnBits) * static_cast<std::size_t>(strip()) + row * kPitch + column % kColumns;
  }

  /// The pairs: T is std::int16_t or float, as kind() says.
  template <class T>
  [[nodiscard]] const T* pairs() const {
    return memory_.as<T>().data();
  }

 private:
  template <class T, class IsHole>
  void pack(std::span<const T> numbers, const IsHole& is_hole);

  HeightKind kind_;
  int rows_, columns_;
  double scale_m_ = 1, offset_m_ = 0;
  bool has_holes_ = false;
  Buffer memory_;  // in huge pages, where there are: a path runs through hundreds of small ones
};

/// The way of a link over the ground, and its antennas. At the fraction t of the way it is at column
/// c[0] + c[1] t + c[2] t^2 + c[3] t^3 of the grid, the row likewise: a straight line in a plane has two terms, a
/// geodesic in a grid of latitudes and longitudes all four.
struct Route {
  double column[4], row[4];  // in steps of the grid
  double length_m;           // of the whole way; what is not above 0 has no loss
  double antenna_m[2];       // above ground, at the begin and at the end
};

/// From one place to another in a plane, `step_m` between the crossings of its grid; every antenna alike.
Route straight_route(double from_column, double from_row, double to_column, double to_row, double step_m,
                     double antenna_m);

/// Whether all points of a way lie on the grid, at `points` equal steps with both ends.
bool on_ground(const Route& route, const Ground& ground, int points);

}  // namespace shakedown::radio
