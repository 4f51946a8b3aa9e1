// Solves with the factors, and refines the solution to double precision. Classical refinement: x += (L U)^-1 (b - A x),
// the residual in double precision from the matrix generated again.
#pragma once

#include <functional>

#include "hpl/check.hpp"
#include "hpl_gpu/blocks.hpp"
#include "store.hpp"

namespace shakedown::hpl_mxp {

/// Fill the matrix, and its diagonal with the sums of its rows. Every rank of the grid calls it.
void generate(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls, const gpu::Stream& stream);

inline constexpr double kEnlarged = 0.5;  // of a diagonal entry, that a damaged matrix has more

/// b - A x and what belongs to it.
struct Distance {
  std::vector<double> r;  // of the local rows
  double scaled = 0;      // HPL's residual; NaN where anything is not finite
};

class Refinement {
 public:
  /// `enlarged`: the row of an entry of the diagonal that counts half as large again (for tests of the check); -1:
  /// none.
  Refinement(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
             const gpu::Stream& stream, Index enlarged);

  /// Solve, and refine until the residual is within the accuracy, no longer falls, or is not finite. Every rank of the
  /// grid calls it. Fills residuals, converged and x.
  void run(Result& result);

 private:
  [[nodiscard]] Distance distance(const std::vector<double>& x);
  [[nodiscard]] std::vector<double> correction(const std::vector<double>& r);
  void triangle(bool lower);
  void block(Index k, bool lower);

  const Setup& setup_;
  const Grid& grid_;
  const Part& part_;
  Store& store_;
  const Calls& calls_;
  const gpu::Stream& stream_;
  hpl_gpu::BlockMove move_;
  Index enlarged_;
  std::vector<double> b_, own_;  // of the local rows: the right side, netlib's diagonal
};

/// HPL's residual of the solution whose local columns are `x`, from A and b generated again. The same on every rank.
hpl::Check check(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                 const gpu::Stream& stream, const std::vector<double>& x);

}  // namespace shakedown::hpl_mxp
