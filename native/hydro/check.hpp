// Whether what was computed can be right: mass, energy and momentum are kept, and Sod's tube is the exact solution.
#pragma once

#include <optional>

#include "common/emit.hpp"
#include "solver.hpp"

namespace shakedown::hydro {

/// How far a solver's field is from what must be true, each over its bound: 1 is the most that passes.
struct Deviations {
  double mass = 0, energy = 0, momentum = 0;
  std::optional<double> exact;  // of Sod's tube, while no wave has met a wall
  [[nodiscard]] double worst() const;
  [[nodiscard]] Object facts() const;
};

/// The most that rounding may change of a sum in so many steps, relatively: each cell's sum is rounded four times a
/// step (for each dimension, once in the flux's product and once in the sum).
double rounding(std::int64_t steps);

/// Of a field since it had the totals `before`, at step 0; collective.
Deviations deviations(Solver& solver, Problem problem, const Totals& before);

}  // namespace shakedown::hydro
