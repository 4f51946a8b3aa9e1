// The grid of cells: edges at least as long as the range of the lists, so that neighbours are in 27 of them. Cells that
// follow one another along x are one row, and so are their particles in memory; the rows follow Morton's curve over y
// and z, so that rows which are neighbours come soon after one another and find places in the caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/error.hpp"

namespace shakedown::lj {

/// The rows of cells (y + edge z of each) in the order of Morton's curve over y and z.
inline std::vector<std::uint32_t> rows_by_curve(std::uint32_t edge) {
  const auto curve = [edge](std::uint32_t row) {
    std::uint32_t place = 0;
    for (std::uint32_t bit = 0; bit < 10; ++bit) {
      place |= ((row % edge >> bit & 1U) << (2 * bit)) | ((row / edge >> bit & 1U) << (2 * bit + 1));
    }
    return place;
  };
  std::vector<std::uint32_t> rows(std::size_t{edge} * edge);
  for (std::uint32_t row = 0; row < rows.size(); ++row) rows[row] = row;
  std::sort(rows.begin(), rows.end(), [&](auto a, auto b) { return curve(a) < curve(b); });
  return rows;
}
/// "Could not measure": the edge must be three times as long as the lists' reach.
inline Error box_too_small(double length, double range) {
  return cannot("a box of edge " + std::to_string(length) + " is too small for lists out to " + std::to_string(range),
                "ask for more particles, a smaller cutoff or a smaller --skin: the edge must be three times as long");
}

struct Cells {
  std::uint32_t edge = 0;             // cells along an edge of the box
  std::vector<std::uint32_t> begins;  // of each cell's particles, and one past the last
  std::vector<std::uint32_t> rank;    // of the row at y + edge z
  std::vector<std::uint32_t> rows;    // y + edge z of each row

  Cells() = default;
  Cells(double length, double range) : edge(static_cast<std::uint32_t>(std::min(length / range, 1023.0))) {
    if (edge < 3) throw box_too_small(length, range);
    begins.assign(count() + 1, 0);
    rows = rows_by_curve(edge);
    rank.resize(rows.size());
    for (std::uint32_t row = 0; row < rows.size(); ++row) rank[rows[row]] = row;
  }
  [[nodiscard]] std::size_t count() const { return std::size_t{edge} * edge * edge; }

  /// The cell of a place given as fractions of the box in 64 bits.
  [[nodiscard]] std::uint32_t of(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return rank[along(z) * edge + along(y)] * edge + along(x);
  }
  /// Where a cell is along x, y and z.
  struct At {
    std::uint32_t x, y, z;
  };
  [[nodiscard]] At at(std::uint32_t cell) const {
    const std::uint32_t row = rows[cell / edge];
    return {cell % edge, row % edge, row / edge};
  }
  /// The middle of the c-th cell along an edge, as a fraction of the box in 32 bits.
  [[nodiscard]] std::uint32_t middle(std::uint32_t c) const {
    return static_cast<std::uint32_t>(((2 * std::uint64_t{c} + 1) << 31) / edge);
  }

  /// Call part(first, last) for runs of particles that make up the 27 cells around a cell.
  template <class Part>
  void around(std::uint32_t cell, Part&& part) const {
    const auto [x, y, z] = at(cell);
    for (std::uint32_t dz = edge - 1; dz <= edge + 1; ++dz) {
      for (std::uint32_t dy = edge - 1; dy <= edge + 1; ++dy) {
        const std::uint32_t* row = begins.data() + rank[(z + dz) % edge * edge + (y + dy) % edge] * std::size_t{edge};
        if (x == 0) {
          part(row[0], row[2]);
          part(row[edge - 1], row[edge]);
        } else if (x == edge - 1) {
          part(row[0], row[1]);
          part(row[edge - 2], row[edge]);
        } else {
          part(row[x - 1], row[x + 2]);
        }
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t along(std::int64_t at) const {
    return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(at) >> 32) * edge) >> 32);
  }
};

}  // namespace shakedown::lj
