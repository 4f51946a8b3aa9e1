#include "csr.hpp"

namespace shakedown::hpcg {
namespace {

/// Calls visit(column) for each entry of a row in order.
template <class Visit>
void each_entry(const Grid& grid, const Halo& halo, std::int64_t row, Visit&& visit) {
  const Triple n = grid.n;
  const std::int64_t i = row % n.x, j = row / n.x % n.y, k = row / (n.x * n.y);
  const bool inside = i > 0 && i + 1 < n.x && j > 0 && j + 1 < n.y && k > 0 && k + 1 < n.z;
  for (std::int64_t z = k - 1; z <= k + 1; ++z) {
    for (std::int64_t y = j - 1; y <= j + 1; ++y) {
      for (std::int64_t x = i - 1; x <= i + 1; ++x) {
        const bool own = inside || (x >= 0 && x < n.x && y >= 0 && y < n.y && z >= 0 && z < n.z);
        const std::int64_t column = own ? grid.row(x, y, z) : halo.column(x, y, z);
        if (column >= 0) visit(column);
      }
    }
  }
}

}  // namespace

Csr assemble(Team& team, const Grid& grid, const Halo& halo) {
  const std::int64_t rows = grid.rows();
  Csr a;
  a.begin = Array<std::int64_t>(rows + 1);
  team.run([&](int thread) {
    const auto mine = part_of(rows, team.size(), thread);
    for (std::int64_t row = mine.first; row < mine.last; ++row) {
      std::int64_t count = 0;
      each_entry(grid, halo, row, [&](std::int64_t) { ++count; });
      a.begin[row + 1] = count;
    }
  });
  for (std::int64_t row = 0; row < rows; ++row) a.begin[row + 1] += a.begin[row];
  a.columns = Array<std::int32_t>(a.entries());
  a.values = Array<double>(a.entries());
  team.run([&](int thread) {
    const auto mine = part_of(rows, team.size(), thread);
    for (std::int64_t row = mine.first; row < mine.last; ++row) {
      std::int64_t at = a.begin[row];
      each_entry(grid, halo, row, [&](std::int64_t column) {
        a.columns[at] = static_cast<std::int32_t>(column);
        a.values[at++] = column == row ? kDiagonal : kBeside;
      });
    }
  });
  return a;
}

void reference_multiply(const Csr& a, const double* x, double* y) {
  const std::int64_t rows = a.rows();
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::int64_t k = a.begin[row]; k < a.begin[row + 1]; ++k) sum += a.values[k] * x[a.columns[k]];
    y[row] = sum;
  }
}

void reference_sweep(const Csr& a, const double* r, double* x) {
  const std::int64_t rows = a.rows();
  const auto relax = [&](std::int64_t row) {
    double sum = r[row], diagonal = 0;
    for (std::int64_t k = a.begin[row]; k < a.begin[row + 1]; ++k) {
      const std::int64_t column = a.columns[k];
      if (column == row) diagonal = a.values[k];
      sum -= a.values[k] * x[column];
    }
    x[row] = (sum + x[row] * diagonal) / diagonal;
  };
  for (std::int64_t row = 0; row < rows; ++row) relax(row);
  for (std::int64_t row = rows - 1; row >= 0; --row) relax(row);
}

double reference_dot(const double* x, const double* y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace shakedown::hpcg
