// The residual of a solution, from what each rank found of A x and of the sums of |A|.
#pragma once

#include <functional>
#include <vector>

#include "hpl.hpp"

namespace shakedown::hpl {

/// The residual ||Ax-b|| / (eps (||A|| ||x|| + ||b||) N) in infinity norms; NaN where anything is not finite.
struct Check {
  double residual = 0, error_norm = 0, b_norm = 0;
  double a_norm = 0, x_norm = 0;  // infinity
  double a_one = 0, x_one = 0;    // the norms of columns, which netlib prints where the check fails
};

/// `sums` holds, for each local row, this rank's part of A x and of the sum of |a|; `x` is the whole solution. Where
/// the check fails `largest_column` is asked, on every rank. Every rank of the grid calls it and gets the same.
Check finish_check(Index n, const Cyclic& rows, const Grid& grid, std::vector<double>& sums,
                   const std::vector<double>& x, const std::function<double()>& largest_column);

/// The 1-norm of A from each local column's sum of |a| over this rank's rows. The same on every rank.
double largest_column_of(std::vector<double>& sums, const Grid& grid);

}  // namespace shakedown::hpl
