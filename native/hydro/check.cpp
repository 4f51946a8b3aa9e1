#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shakedown::hydro {
namespace {

// A contact spreads over cells with the third root of the number of steps, the other waves less: so does the mean
// difference of density, times the cells of the tube. Measured at 64 to 2,048 cells and 6 to 1,000 steps, it is at most
// 0.4 + 0.058 steps^(1/3); half as much again passes.
double tube_bound(std::int64_t cells, std::int64_t steps) {
  return 1.5 * (0.4 + 0.058 * std::cbrt(static_cast<double>(steps))) / static_cast<double>(cells);
}

/// The larger; not a number where one of them is none.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

std::optional<double> tube(Solver& solver, Problem problem) {
  if (problem != Problem::sod_x && problem != Problem::sod_y) return std::nullopt;
  const bool along_x = problem == Problem::sod_x;
  const auto n = static_cast<double>(along_x ? solver.domain().columns : solver.domain().rows);
  const double time = solver.progress().time;
  if (!(time > 0) || time > 0.28 * n) return std::nullopt;  // the shock is at 1.7522 t, the wall at n / 2
  const double middle = std::ceil(n / 2);
  const double found = solver.mean([&](double density, std::int64_t column, std::int64_t row) {
    const double x = static_cast<double>(along_x ? column : row) + 0.5 - middle;
    return std::fabs(density - exact_riemann(kSodLeft, kSodRight, x / time).density);
  });
  return found / tube_bound(static_cast<std::int64_t>(n), solver.progress().step);
}

}  // namespace

double rounding(std::int64_t steps) {
  return std::numeric_limits<double>::epsilon() * (16 + 4 * static_cast<double>(steps));
}

double Deviations::worst() const { return larger(larger(mass, energy), larger(momentum, exact.value_or(0))); }

Object Deviations::facts() const {
  Object out;
  out.add("mass", mass).add("energy", energy).add("momentum", momentum);
  if (exact) out.add("exact_solution", *exact);
  return out;
}

Deviations deviations(Solver& solver, Problem problem, const Totals& before) {
  const Totals after = solver.totals();
  const Pushed pushed = solver.pushed();
  const long double bound = rounding(solver.progress().step);
  const auto over = [&](long double difference, long double size) {
    return static_cast<double>(std::fabs(difference) / (bound * size));
  };
  // Momenta are rounded as what makes them: no sum over cells of density times a speed of the gas or of its sound
  // exceeds the root of 2 mass times energy.
  const long double size = std::sqrt(2 * before.mass * before.energy) + pushed.size;
  Deviations found;
  found.mass = over(after.mass - before.mass, before.mass);
  found.energy = over(after.energy - before.energy, before.energy);
  found.momentum = larger(over(after.along_x - before.along_x - pushed.along_x, size),
                          over(after.along_y - before.along_y - pushed.along_y, size));
  found.exact = tube(solver, problem);
  return found;
}

}  // namespace shakedown::hydro
