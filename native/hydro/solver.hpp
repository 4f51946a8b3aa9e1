// The gas on all ranks and threads: from its start, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/team.hpp"
#include "domain.hpp"
#include "hydro.hpp"
#include "problem.hpp"

namespace shakedown::hydro {

/// How far a gas has come. Times are over the edge of a cell, so that they are those of a grid with cells of 1.
struct Progress {
  std::int64_t step = 0;
  double time = 0;  // since the start
  double dt = 0;    // of the step before
};

/// What all cells hold together, and how much momentum there is regardless of its sign.
struct Totals {
  long double mass = 0, along_x = 0, along_y = 0, energy = 0, momenta = 0;
};

/// Momentum that the walls gave since the start, and what pushed regardless of its sign.
struct Pushed {
  long double along_x = 0, along_y = 0, size = 0;
};

class Solver {
 public:
  /// Makes the field at the start. The team, the domain's communicator and the loops stay the caller's.
  Solver(Team& team, const Isa& isa, const Domain& domain, Problem problem);

  /// So many steps; collective.
  void advance(std::int64_t steps);

  [[nodiscard]] const Domain& domain() const { return domain_; }
  [[nodiscard]] const Progress& progress() const { return progress_; }
  /// The cells as they are now.
  [[nodiscard]] const Field& field() const { return now_; }

  /// Of all ranks; collective, both.
  [[nodiscard]] Totals totals();
  [[nodiscard]] Pushed pushed() const;
  /// A number that tells fields apart which differ in any bit of any cell, however ranks divide them; collective.
  [[nodiscard]] std::uint64_t digest();
  /// The mean over all cells of f(density, column, row); collective.
  template <class F>
  [[nodiscard]] double mean(F&& f) {
    return sum([&](std::int64_t row) {
             long double part = 0;
             for (std::int64_t i = 0; i < now_.columns(); ++i) {
               part += f(now_.line(row, kMass)[i], domain_.own.left + i, domain_.own.low + row);
             }
             return part;
           }) /
           static_cast<double>(domain_.columns * domain_.rows);
  }
  /// Go on from cells that were put into field(): this is where they are, and what all walls gave until then.
  void resume(const Progress& progress, const Pushed& pushed);
  /// Add to a variable of a cell of the whole grid: to see the checks fail.
  void spoil(std::int64_t column, std::int64_t row, int variable, double more);

 private:
  /// The sum over this rank's rows, then over ranks in their order.
  template <class F>
  double sum(F&& row_sum) {
    long double mine = 0;
    for (std::int64_t row = 0; row < now_.rows(); ++row) mine += row_sum(row);
    return static_cast<double>(added(mine));
  }
  [[nodiscard]] long double added(long double mine) const;
  [[nodiscard]] Tile part_of(int thread) const;
  void one_step(int thread);
  void conclude();
  double fastest_of_all(double mine) const;

  Team& team_;
  const Isa& isa_;
  Domain domain_;
  Ghosts ghosts_;
  Field now_, next_;
  Progress progress_;
  Pushed pushed_;       // by the walls of this rank
  double fastest_ = 0;  // before the next step, where its number is even
  int threads_across_ = 1;
  std::vector<Buffer> scratch_;
  struct alignas(128) Found : Advanced {};
  std::vector<Found> found_;
};

}  // namespace shakedown::hydro
