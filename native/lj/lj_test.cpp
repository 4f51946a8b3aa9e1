// What must be true of the fluid, the lists and the forces, in every instruction set that runs here.
#include <algorithm>
#include <cmath>
#include <set>

#include "cells.hpp"
#include "common/isa.hpp"
#include "cpu.hpp"
#include "fluid.hpp"
#include "testing.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::lj {
namespace {

constexpr int kSteps = kSanitized ? 50 : 150;  // of each stretch

/// Forces, sums and a stretch of steps of one instruction set in one precision.
void right(Checks& checks, Team& team, const Isa& isa, Precision precision, std::size_t n, Start start) {
  const std::string who = std::string(isa.name) + " " + word(precision) + " " + std::to_string(n) + " " +
                          std::to_string(team.size()) + " threads";
  const Physics physics;
  const State begin = fluid(n, 0.382, 1.2, start, 7);
  const auto backend = make_cpu(team, isa, precision, physics, n);
  backend->set_skin(0.3);
  backend->load(begin);
  State state;
  Forces forces;
  backend->store(state, forces);
  const double eps = epsilon(precision);
  double moved = 0, sped = 0;
  for (std::size_t i = 0; i < n; ++i) {
    moved = std::max(moved, std::fabs(nearest(state.x[i] - begin.x[i], begin.length)));
    sped = std::max(sped, std::fabs(state.vz[i] - begin.vz[i]));
  }
  checks.that(moved < 1e-14 * begin.length, who + ": places are kept as they were given");
  checks.that(sped < 1e-12, who + ": velocities too, half a step back and forth");
  std::vector<double> energies;
  for (int part = 0; part < 3; ++part) {
    backend->store(state, forces);
    checks.that(check_forces(state, forces, physics, precision).value <= 1, who + ": forces " + std::to_string(part));
    const Thermo found = backend->thermo(), expected = all_pairs(state, physics.cutoff);
    checks.that(near(found.potential, expected.potential, 100 * eps), who + ": potential");
    checks.that(std::fabs(found.virial - expected.virial) < 3000 * eps * std::fabs(expected.potential),
                who + ": virial");
    checks.that(near(found.kinetic, expected.kinetic, 1e-12), who + ": kinetic energy");
    checks.that(std::fabs(found.pairs - expected.pairs) <= (precision == Precision::mixed ? 2 : 0), who + ": pairs");
    checks.that(check_momentum(found, std::int64_t{kSteps} * part, n, physics, precision).value <= 1,
                who + ": momentum");
    backend->advance(kSteps);  // the first of them from places that are far from rest: their energies do not count
    energies.push_back(point(backend->thermo(), state, physics).energy);
  }
  const double temperature = point(backend->thermo(), state, physics).temperature;
  checks.that(check_energy(energies, kSteps, temperature, state, physics).value <= 1, who + ": energy");
}

/// Steps against velocity Verlet written down as in the books.
void steps_are_velocity_verlet(Checks& checks, Team& team) {
  const Physics physics;
  State state = fluid(500, 0.382, 1.2, Start::random, 3);
  const auto backend = make_cpu(team, *isas_here().front(), Precision::both_double, physics, state.count());
  backend->set_skin(0.3);
  backend->load(state);
  backend->advance(20);
  verlet(state, physics, 20);
  State found;
  Forces ignored;
  backend->store(found, ignored);
  double worst = 0;
  for (std::size_t i = 0; i < state.count(); ++i) {
    worst = std::max({worst, std::fabs(nearest(found.x[i] - state.x[i], state.length)),
                      std::fabs(nearest(found.y[i] - state.y[i], state.length)), std::fabs(found.vz[i] - state.vz[i])});
  }
  checks.that(worst < 1e-10, "20 steps are those of velocity Verlet: off by " + std::to_string(worst));
}

/// The pressure of a thin gas is that of the virial series: P = rho T (1 + B2 rho).
void thin_gas(Checks& checks, Team& team) {
  constexpr double kDensity = 0.02, kTemperature = 1.5, kStep = 1e-4;
  const Physics physics;
  double integral = 0;
  for (int k = 0; k < static_cast<int>(physics.cutoff / kStep); ++k) {
    const double r = (k + 0.5) * kStep;
    const double u = r < 0.5 ? 1e9 : pair_potential(r) - pair_potential(physics.cutoff);
    integral += (std::exp(-u / kTemperature) - 1) * r * r * kStep;
  }
  const double b2 = -2 * M_PI * integral;
  State state = fluid(4000, kDensity, kTemperature, Start::random, 5);
  const auto backend = make_cpu(team, *isas_here().front(), Precision::mixed, physics, state.count());
  backend->load(state);
  backend->advance(400);
  double found = 0, expected = 0;
  for (int part = 0; part < 40; ++part) {
    backend->advance(50);
    const Point now = point(backend->thermo(), state, physics);
    found += now.pressure;
    expected += kDensity * now.temperature * (1 + b2 * kDensity);
  }
  checks.that(near(found, expected, 5e-3), "the virial series: " + std::to_string(found / expected));
  checks.that(!near(found, expected / (1 + b2 * kDensity), 5e-3), "which is not that of an ideal gas here");
}

void wrong_is_found(Checks& checks, Team& team) {
  Physics physics;
  physics.force_factor = 1.01;
  State state = fluid(2048, 0.8, 1.5, Start::fcc, 7);
  const auto backend = make_cpu(team, *isas_here().front(), Precision::mixed, physics, state.count());
  backend->set_skin(0.3);
  backend->load(state);
  std::vector<double> energies{point(backend->thermo(), state, physics).energy};
  backend->advance(100);
  energies.push_back(point(backend->thermo(), state, physics).energy);
  Forces forces;
  backend->store(state, forces);
  checks.that(check_forces(state, forces, physics, Precision::mixed).value > 1, "forces 1 % too large are found");
  checks.that(check_energy(energies, 100, 1.5, state, physics).value > 1, "and their energy, which is not conserved");
  Thermo pushed;
  pushed.px = 1;
  checks.that(check_momentum(pushed, 100, 2048, physics, Precision::mixed).value > 1, "a momentum out of nowhere");
  energies.back() = std::nan("");
  checks.that(!residual({check_energy(energies, 100, 1.5, state, physics)}).passed(), "NaN is no pass");
}

/// What the energy's swing is counted in, and the steps for which it is.
void steps_and_forces(Checks& checks) {
  Forces forces;
  for (auto* column : {&forces.x, &forces.y, &forces.z}) column->assign(1500, 2);
  checks.equal(mean_square(forces), 12.0, "the mean of the squares");
  forces.x[7] = 1e30, forces.y[8] = std::nan(""), forces.z[9] = -std::numeric_limits<double>::infinity();
  checks.that(near(mean_square(forces), 12, 1e-12), "some that are wrong do not widen the bound");
  checks.equal(mean_square({}), 0.0, "of nothing");
  const State state = fluid(2048, 0.382, 1.2, Start::fcc, 1);
  const Physics physics;
  const double whole = physics.dt * physics.dt * 1e4 / 24;  // of a dense fluid
  checks.that(check_energy({0, whole}, 100, 1.2, state, physics, 1e4).value < 1, "as much as belongs to the forces");
  checks.that(check_energy({0, whole}, 100, 1.2, state, physics).value > 1, "is too much without them");
  checks.that(check_energy({0, 10 * whole}, 100, 1.2, state, physics, 1e4).value > 1, "and so is ten times that");
  checks.that(longest_step(1.2) > 1.9 * physics.dt && longest_step(10) < physics.dt, "a hot fluid has shorter steps");
  checks.equal(longest_step(0.01), longest_step(1), "a cold one not longer");
}

void starts(Checks& checks) {
  for (const Start start : {Start::fcc, Start::random}) {
    const State state = fluid(1000, 0.382, 1.2, start, 1);
    const Thermo found = all_pairs(state, 3);
    checks.that(near(found.kinetic, 1.5 * 999 * 1.2, 1e-12), "the temperature is as asked");
    double px = 0, least = 1e9;
    for (const double v : state.vx) px += v;
    checks.that(std::fabs(px) < 1e-10, "no motion of the whole");
    for (std::size_t i = 0; i < 1000; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double d[3] = {nearest(state.x[i] - state.x[j], state.length),
                             nearest(state.y[i] - state.y[j], state.length),
                             nearest(state.z[i] - state.z[j], state.length)};
        least = std::min(least, std::hypot(d[0], d[1], d[2]));
      }
    }
    checks.that(least >= 0.9, "nobody is nearer than 0.9");
    checks.that(*std::max_element(state.x.begin(), state.x.end()) < state.length &&
                    *std::min_element(state.x.begin(), state.x.end()) >= 0,
                "places are in the box");
  }
  checks.throws<Error>([] { fluid(5000, 1.5, 1, Start::random, 1); }, "random places that cannot be found");
}

void cells(Checks& checks) {
  for (const double length : {9.0, 10.5, 40.0}) {
    Cells grid(length, 3.0);
    for (std::size_t c = 0; c <= grid.count(); ++c) grid.begins[c] = static_cast<std::uint32_t>(c);
    for (std::uint32_t cell = 0; cell < grid.count(); ++cell) {
      std::set<std::size_t> found;
      grid.around(cell, [&](std::size_t first, std::size_t last) {
        for (; first < last; ++first) found.insert(first);
      });
      if (found.size() != 27 || found.count(cell) != 1) {
        checks.equal(found.size(), 27U, "cells around " + std::to_string(cell) + " of " + std::to_string(grid.edge));
        return;
      }
    }
  }
  checks.that(true, "27 cells around each");
  checks.throws<Error>([] { Cells(8.9, 3.0); }, "a box too small");
}

}  // namespace
}  // namespace shakedown::lj

int main() {
  using namespace shakedown;
  using namespace shakedown::lj;
  Checks checks;
  steps_and_forces(checks);
  starts(checks);
  cells(checks);
  const int cpu = allowed_cpus().front();
  Team one({cpu}), three({cpu, cpu, cpu});
  for (const auto* isa : isas_here()) {
    for (const Precision precision : {Precision::mixed, Precision::both_double}) {
      right(checks, one, *isa, precision, 1000, Start::random);
      right(checks, three, *isa, precision, 1333, Start::fcc);
    }
  }
  steps_are_velocity_verlet(checks, one);
  if (!kSanitized) thin_gas(checks, one);  // a mean over 2,000 steps: of numbers, not of what reads and writes where
  wrong_is_found(checks, one);
  return checks.end();
}
