// The bandwidth that a run is laid over: STREAM's triad by the program's own loops, on the same threads of the same ranks.
#pragma once

#include "run.hpp"

namespace shakedown::hpcg {

struct Triad {
  std::int64_t array_bytes = 0;  // of a rank
  std::int64_t bytes = 0;        // counted in a sample, of all ranks
  std::vector<double> seconds;   // the longest of all ranks
  std::int64_t begin_ns = 0, end_ns = 0;
  bool exact = true;  // every element right, on every rank
};

/// Collective.
Triad measure_triad(const Place& place, const Options& options);

}  // namespace shakedown::hpcg
