// What the benchmark's rules count: operations by formula, whatever a program really does, and bytes as they must move.
#pragma once

#include <cstdint>

#include "problem.hpp"

namespace shakedown::hpcg {

/// Operations of so many iterations in one set, by the rules (J. Dongarra, M. A. Heroux, P. Luszczek, "HPCG benchmark:
/// a new metric for ranking high performance computing systems", UT-EECS-15-736, 2015): 2 for each entry in a product,
/// 4 in a symmetric sweep, 2 for each number in a dot product (three an iteration, one more a set) and in an update
/// (likewise).
struct Flops {
  double dot = 0, update = 0, multiply = 0, multigrid = 0;
  [[nodiscard]] double sum() const { return dot + update + multiply + multigrid; }
};

inline double cycle_flops(const Problem& problem) {
  double flops = 0;
  for (std::size_t k = 0; k < problem.entries.size(); ++k) {
    const auto entries = static_cast<double>(problem.entries[k]);
    // Before, the residual, after; on the coarsest grid one sweep.
    flops += (k + 1 < problem.entries.size() ? 4 + 2 + 4 : 4) * entries;
  }
  return flops;
}

inline Flops set_flops(const Problem& problem, int iterations) {
  const auto n = static_cast<double>(problem.equations), entries = static_cast<double>(problem.entries.front());
  const auto times = static_cast<double>(iterations);
  return {(3 * times + 1) * 2 * n, (3 * times + 1) * 2 * n, (times + 1) * 2 * entries, times * cycle_flops(problem)};
}

}  // namespace shakedown::hpcg
