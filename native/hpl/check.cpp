#include "check.hpp"

#include <algorithm>
#include <cmath>

#include "matrix.hpp"

namespace shakedown::hpl {
namespace {

/// Netlib's threshold: below it nobody asks for more norms.
constexpr double kAccepted = 16;

}  // namespace

Check finish_check(Index n, const Cyclic& rows, const Grid& grid, std::vector<double>& sums,
                   const std::vector<double>& x, const std::function<double()>& largest_column) {
  const Index height = rows.count(n, grid.row);
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(2 * height), MPI_DOUBLE, MPI_SUM, grid.in_row);
  // A maximum that keeps NaN: comparisons with it are false, and MPI_MAX may drop it.
  double largest[3] = {0, 0, 0};  // |Ax - b|, ||A||, |b|
  double bad = 0;
  for (Index i = 0; i < height; ++i) {
    const double b = entry(n, rows.global(i, grid.row), n);
    const double values[3] = {std::fabs(sums[2 * static_cast<std::size_t>(i)] - b),
                              sums[2 * static_cast<std::size_t>(i) + 1], std::fabs(b)};
    for (int v = 0; v < 3; ++v) {
      largest[v] = std::max(largest[v], values[v]);
      if (!std::isfinite(values[v])) bad = 1;
    }
  }
  double all[5] = {largest[0], largest[1], largest[2], bad, 0};
  for (const double value : x) {
    all[4] = std::max(all[4], std::fabs(value));
    if (!std::isfinite(value)) all[3] = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, all, 5, MPI_DOUBLE, MPI_MAX, grid.all);
  constexpr double kEps = 0x1p-53;
  Check check;
  check.error_norm = all[0];
  check.a_norm = all[1];
  check.b_norm = all[2];
  check.x_norm = all[4];
  check.residual =
      all[3] != 0 ? std::nan("")
                  : check.error_norm / (kEps * (check.a_norm * check.x_norm + check.b_norm) * static_cast<double>(n));
  if (!(check.residual < kAccepted)) {  // netlib then prints the norms of columns too
    check.a_one = largest_column();
    for (const double value : x) check.x_one += std::fabs(value);
  }
  return check;
}

double largest_column_of(std::vector<double>& sums, const Grid& grid) {
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, grid.in_column);
  double largest = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, grid.all);
  return largest;
}

}  // namespace shakedown::hpl
