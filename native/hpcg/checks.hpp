// What must be true of a run, each as a deviation over its bound.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/json.hpp"
#include "solver.hpp"

namespace shakedown::hpcg {

struct Deviation {
  std::string name;
  double value = 0, bound = 1;
  [[nodiscard]] double over() const;
};

class Deviations {
 public:
  void add(const std::string& name, double value, double bound) { all_.push_back({name, value, bound}); }
  /// The largest of value over bound; NaN where one is.
  [[nodiscard]] double worst() const;
  [[nodiscard]] Object facts() const;

 private:
  std::vector<Deviation> all_;
};

inline constexpr int kMostPlain = 12;  // iterations of the spread-out system without the multigrid, by the rules
inline constexpr int kMostPreconditioned = 2;  // and with it

/// The rules' tests before anything is timed: x'Ay = y'Ax, x'My = y'Mx, and few iterations where the diagonal
/// dominates; and our products and cycles beside the reference's. Collective.
void test_solver(Solver& solver, Reference& reference, Deviations& deviations);

/// The first row of a level's whole grid where A times whole numbers is not what the grid alone says, which is exact;
/// none where all are. Collective.
struct Wrong {
  std::int64_t row = -1;  // of the whole grid, the lowest
  double found = 0, expected = 0;
};
std::optional<Wrong> wrong_row(Solver& solver, std::size_t level);

/// The largest |x - 1|; and |b - A x| over |b|. Collective, both.
double distance_from_ones(const Vector& x, const Grid& grid);
double true_residual(Solver& solver);

}  // namespace shakedown::hpcg
