// The interface of hpl_mxp on one screen: what a run is told, and what it gives.
#pragma once

#include "hpl_gpu/hpl_gpu.hpp"
#include "tasks.hpp"

namespace shakedown::hpl_mxp {

using hpl::Grid;  // of ranks; that of a launch is gpu::Grid
using hpl_gpu::Geometry;
using hpl_gpu::Range;
using hpl_gpu::Side;

/// One solution, every parameter resolved. Of `base` what concerns pivots, rows and threads has no meaning here.
struct Setup : hpl_gpu::BaseSetup {
  Precision precision = Precision::f16;
  double accuracy = 1;   // of the scaled residual: refinement ends there
  int refinements = 50;  // steps, at most
};

/// This rank's part of the matrix, N x N without b, and its panels.
Geometry geometry_of(const Setup& setup, int row, int column);

/// Powers of two that L is multiplied with before it becomes 16 bits, and the products are divided by: entries of L are
/// some 2 / N, and half precision ends at 6e-8.
double scale_of(Index n);

/// Where a rank's seconds went, in the accounts of hpl::Shares.
inline constexpr hpl::Account kAccounts[] = {{"update", &hpl::Shares::update},     {"panel", &hpl::Shares::panel},
                                             {"triangles", &hpl::Shares::solve},   {"casts", &hpl::Shares::rows},
                                             {"messages", &hpl::Shares::messages}, {"wait", &hpl::Shares::wait},
                                             {"refinement", &hpl::Shares::other}};

struct Result {
  std::int64_t begin_ns = 0;      // Unix time
  double seconds = 0;             // this rank's, factorization and refinement
  double factor_seconds = 0;      // of these, the factorization
  hpl::Shares shares;             // of `seconds`
  double panel_busy = 0;          // seconds in which a panel was made, beside the update or not
  std::vector<double> residuals;  // scaled, of the first solution and after each step of the refinement
  bool converged = false;         // the last one is within `accuracy`
  std::vector<double> x;          // the solution's entries of the local columns
};

}  // namespace shakedown::hpl_mxp
