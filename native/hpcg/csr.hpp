// The matrix as it is set up, row by row, and the plain loops over it: the reference of the benchmark's rules.
#pragma once

#include <functional>
#include <vector>

#include "common/team.hpp"
#include "grid.hpp"

namespace shakedown::hpcg {

inline constexpr double kDiagonal = 26, kBeside = -1;

/// Rows with their entries in the order of columns of the whole grid. A column is a row of this rank, or lies in the
/// halo.
struct Csr {
  Array<std::int64_t> begin;  // of each row; one more for the end
  Array<std::int32_t> columns;
  Array<double> values;
  [[nodiscard]] std::int64_t rows() const { return begin.size() - 1; }
  [[nodiscard]] std::int64_t entries() const { return begin[rows()]; }
};

/// 26 on the diagonal, -1 for each of the at most 26 points beside a point of the whole grid.
Csr assemble(Team& team, const Grid& grid, const Halo& halo);

/// Part k of n in so many parts of whole chunks: first and last row.
struct Range {
  std::int64_t first = 0, last = 0;
};
inline Range part_of(std::int64_t n, int parts, int k) {
  const std::int64_t chunks = (n + kRows - 1) / kRows;
  const auto edge = [&](int t) { return t == parts ? n : chunks * t / parts * kRows; };
  return {edge(k), edge(k + 1)};
}

/// y = A x, one row after the other; the halo of x is filled.
void reference_multiply(const Csr& a, const double* x, double* y);
/// One symmetric sweep of Gauss-Seidel on A x = r, forward and backward; the halo of x is filled.
void reference_sweep(const Csr& a, const double* r, double* x);
double reference_dot(const double* x, const double* y, std::int64_t n);

}  // namespace shakedown::hpcg
