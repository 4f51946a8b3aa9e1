// The method of conjugate gradients, over whatever multiplies, preconditions and adds.
#pragma once

#include <cmath>
#include <vector>

namespace shakedown::hpcg {

struct Solved {
  int iterations = 0;
  double first = 0, last = 0;   // norms of the residual
  std::vector<double> history;  // after each iteration, over the first
  [[nodiscard]] double reduction() const { return last / first; }
};

struct Until {
  int iterations = 0;
  double tolerance = 0;  // of the residual over the first
  bool precondition = true;
};

/// Solves A x = b from x = 0 (M. R. Hestenes, E. Stiefel, Journal of Research of the National Bureau of Standards 49,
/// 409, 1952), as the benchmark has it: a fixed number of iterations unless the tolerance is met before. The system:
/// start() sets x = 0, r = b and gives r'r; precondition() sets z = M r, or z = r; r_dot_z(); direction(beta) sets p =
/// z + beta p; apply() sets Ap = A p and gives p'Ap; advance(alpha) moves x and r and gives r'r.
template <class System>
Solved conjugate_gradients(System& system, const Until& until) {
  Solved found;
  found.first = found.last = std::sqrt(system.start());
  double rtz = 0;
  while (found.iterations < until.iterations && found.reduction() > until.tolerance) {
    system.precondition(until.precondition);
    const double before = rtz;
    rtz = system.r_dot_z();
    system.direction(found.iterations == 0 ? 0 : rtz / before);
    const double curvature = system.apply();
    found.last = std::sqrt(system.advance(rtz / curvature));
    ++found.iterations;
    found.history.push_back(found.reduction());
  }
  return found;
}

}  // namespace shakedown::hpcg
