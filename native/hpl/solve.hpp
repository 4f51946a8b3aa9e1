// Solving L1 U = A for the rows of U, transposed: U and A lie row by row, which for a BLAS is U^T, columns x NB.
#pragma once

#include <vector>

#include "common/blas.hpp"
#include "hpl.hpp"
#include "kernels.hpp"

namespace shakedown::hpl {

/// Blocks of the triangle whose inverses are multiplied with: a BLAS's triangular solve reaches a quarter of its
/// product, and the product of a block's inverse costs only kSolveBlock / NB more operations.
inline constexpr Index kSolveBlock = 64;
inline constexpr Index kSolveColumns = 256;  // that are gathered at a time
inline constexpr Index kSolveAtOnce = 64;  // of these, that are solved at a time: they stay in a core's nearest caches

/// The inverses that solve_rows multiplies with, from the unit lower triangle `l1` of order `order`: of each diagonal
/// block (recursive) or of the whole (inverse), column-major; empty for the BLAS.
inline std::vector<double> invert(const Kernels& loops, Solve solve, const double* l1, Index order) {
  if (solve == Solve::blas) return {};
  const Index step = solve == Solve::inverse ? order : kSolveBlock;
  std::vector<double> inverse(static_cast<std::size_t>(order * step));
  for (Index at = 0; at < order; at += step) {
    const Index width = std::min(step, order - at);
    double* block = inverse.data() + at * step;
    for (Index i = 0; i < width; ++i) block[i + i * width] = 1;
    loops.solve_unit(width, width, l1 + at + at * order, order, block, width);
  }
  return inverse;
}

/// u = the solution for the right side g, both `columns` wide: row i of U begins at u + i ldu. g is destroyed.
inline void solve_rows(const Blas& blas, Solve solve, const double* l1, const std::vector<double>& inverse, Index order,
                       Index columns, double* g, Index ldg, double* u, Index ldu) {
  if (solve == Solve::blas) {
    using Int = Blas::Int;
    using Trsm =
        void(const char*, const char*, const char*, const char*, const Int*, const Int*, const double*, const double*,
             const Int*, double*, const Int*, std::size_t, std::size_t, std::size_t, std::size_t);
    const double one = 1;
    blas.routine<Trsm>("dtrsm")("R", "L", "T", "U", &columns, &order, &one, l1, &order, g, &ldg, 1, 1, 1, 1);
    for (Index i = 0; i < order; ++i) std::copy_n(g + i * ldg, columns, u + i * ldu);
    return;
  }
  const Index step = solve == Solve::inverse ? order : kSolveBlock;
  for (Index at = 0; at < order; at += step) {
    const Index width = std::min(step, order - at);
    if (at > 0) blas.gemm('N', 'T', columns, width, at, -1, u, ldu, l1 + at, order, 1, g + at * ldg, ldg);
    blas.gemm('N', 'T', columns, width, width, 1, g + at * ldg, ldg, inverse.data() + at * step, width, 0, u + at * ldu,
              ldu);
  }
}

}  // namespace shakedown::hpl
