// What the update could reach at most: every thread's DGEMM with k = NB at once, on the memory of the run itself, in
// the faster of two shapes.
#pragma once

#include <vector>

#include "common/blas.hpp"
#include "common/emit.hpp"
#include "system.hpp"

namespace shakedown::hpl {

struct Ceiling {
  double flop = 0;              // of one sample on this rank
  std::vector<double> seconds;  // of each sample, the largest over the ranks
  std::vector<TimeSpan> spans;  // of each sample
};

/// Overwrites the matrix. Every rank of the grid calls it.
Ceiling measure_ceiling(const Grid& grid, const Blas& blas, Team& team, System& system, int first_thread);

}  // namespace shakedown::hpl
