// What must be true of every backend: the tests of the CPU's loops and of the GPUs' share them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "bodies.hpp"
#include "testing/check.hpp"

namespace shakedown::nbody {

using Make = std::function<std::unique_ptr<Backend>(Precision, const Physics&, std::size_t)>;

/// The field by a double loop in long double.
inline Field all_pairs(const Bodies& bodies, const Physics& physics) {
  const std::size_t n = bodies.count();
  Field field;
  for (auto* column : {&field.ax, &field.ay, &field.az, &field.phi}) column->assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    long double a[3] = {}, phi = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const long double dx = bodies.x[j] - bodies.x[i], dy = bodies.y[j] - bodies.y[i], dz = bodies.z[j] - bodies.z[i];
      const long double s = dx * dx + dy * dy + dz * dz + physics.softening * physics.softening;
      const long double f = bodies.m[j] / (s * std::sqrt(s));
      a[0] += f * dx, a[1] += f * dy, a[2] += f * dz;
      phi -= bodies.m[j] / std::sqrt(s);
    }
    field.ax[i] = static_cast<double>(a[0]), field.ay[i] = static_cast<double>(a[1]);
    field.az[i] = static_cast<double>(a[2]), field.phi[i] = static_cast<double>(phi);
  }
  return field;
}

/// The bodies as the backend holds them.
inline Bodies held(Backend& backend, Bodies bodies, Precision precision) {
  backend.load(bodies);
  backend.store(bodies);
  if (precision == Precision::single) {
    for (double& m : bodies.m) m = static_cast<double>(static_cast<float>(m));
  }
  return bodies;
}

/// Two bodies over seven decades of distance: the reciprocal power is right to a few roundings everywhere.
inline void one_pair(Checks& checks, const Make& make, const std::string& who, Precision precision,
                     int points_of_a_decade = 100) {
  const Physics physics{1e-3, 1e-3, 1};
  const auto backend = make(precision, physics, 2);
  double worst = 0;
  for (int k = 0; k < 7 * points_of_a_decade; ++k) {
    const double r = std::pow(10, -4 + static_cast<double>(k) / points_of_a_decade);
    Bodies two;
    two.resize(2);
    two.x[1] = r;
    two.m = {1, 0.7};
    two = held(*backend, two, precision);
    const Field found = backend->evaluate(), right = all_pairs(two, physics);
    worst =
        std::max({worst, std::fabs(found.ax[0] / right.ax[0] - 1), std::fabs(found.ax[1] / right.ax[1] - 1),
                  std::fabs(found.phi[0] - right.phi[0]) / 1000});  // the body's own, 1/eps, was taken off from the sum
  }
  checks.that(worst < 8 * epsilon(precision), who + " " + word(precision) + ": a pair's force is off by " +
                                                  std::to_string(worst / epsilon(precision)) + " roundings");
}

/// Forces, potentials, and what steps conserve, of a sphere.
inline void right(Checks& checks, const Make& make, const std::string& whose, Precision precision, std::size_t n) {
  const std::string who = whose + " " + word(precision) + " " + std::to_string(n);
  Physics physics;
  physics.dt = 1.0 / 256;
  const auto backend = make(precision, physics, n);
  Bodies bodies = held(*backend, plummer(n, 3), precision);
  const Field field = backend->evaluate();
  const Field expected = all_pairs(bodies, physics);
  double phi = 0;
  for (std::size_t i = 0; i < n; ++i) phi = std::max(phi, std::fabs(field.phi[i] / expected.phi[i] - 1));
  checks.that(check_forces(bodies, field, physics, precision).value <= 1, who + ": forces");
  checks.that(phi < 64 * epsilon(precision), who + ": potentials");
  const Ledger before = ledger(bodies, field);
  backend->advance(16);
  backend->advance(16);
  backend->store(bodies);
  const Field later = backend->evaluate();
  const Ledger after = ledger(bodies, later);
  checks.that(std::fabs(after.kinetic - before.kinetic) > 1e-4, who + ": something happened");
  checks.that(check_forces(bodies, later, physics, precision).value <= 1, who + ": forces after steps");
  checks.that(check_energy(before, after, 32, physics, precision).value <= 1, who + ": energy");
  checks.that(check_momentum(before, after, 32, physics, precision).value <= 1, who + ": momentum");
}

/// Steps against leapfrog written down as in the books.
inline void steps_are_leapfrog(Checks& checks, const Make& make) {
  Physics physics;
  physics.dt = 1.0 / 128;
  Bodies bodies = plummer(200, 5);
  const auto backend = make(Precision::both_double, physics, bodies.count());
  backend->load(bodies);
  backend->evaluate();
  backend->advance(10);
  Field field = all_pairs(bodies, physics);
  const auto kick = [&] {
    for (std::size_t i = 0; i < bodies.count(); ++i) {
      bodies.vx[i] += physics.dt / 2 * field.ax[i], bodies.vy[i] += physics.dt / 2 * field.ay[i];
      bodies.vz[i] += physics.dt / 2 * field.az[i];
    }
  };
  for (int step = 0; step < 10; ++step) {
    kick();
    for (std::size_t i = 0; i < bodies.count(); ++i) {
      bodies.x[i] += physics.dt * bodies.vx[i], bodies.y[i] += physics.dt * bodies.vy[i];
      bodies.z[i] += physics.dt * bodies.vz[i];
    }
    field = all_pairs(bodies, physics);
    kick();
  }
  Bodies found;
  found.resize(bodies.count());
  backend->store(found);
  double worst = 0;
  for (std::size_t i = 0; i < bodies.count(); ++i) {
    worst = std::max({worst, std::fabs(found.x[i] - bodies.x[i]), std::fabs(found.y[i] - bodies.y[i]),
                      std::fabs(found.vx[i] - bodies.vx[i]), std::fabs(found.vz[i] - bodies.vz[i])});
  }
  checks.that(worst < 1e-12, "10 steps are those of leapfrog: off by " + std::to_string(worst));
}

/// What is wrong is found by the checks.
inline void wrong_is_found(Checks& checks, const Make& make) {
  Physics physics;
  physics.dt = 1.0 / 128;
  physics.force_factor = 1.01;
  const auto backend = make(Precision::both_double, physics, 1000);
  Bodies bodies = held(*backend, plummer(1000, 3), Precision::both_double);
  Field field = backend->evaluate();
  checks.that(check_forces(bodies, field, physics, Precision::both_double).value > 1, "forces 1 % too large are found");
  const Ledger before = ledger(bodies, field);
  backend->advance(64);
  backend->store(bodies);
  field = backend->evaluate();
  const Ledger after = ledger(bodies, field);
  checks.that(check_energy(before, after, 64, physics, Precision::both_double).value > 1, "and their energy");
  Ledger pushed = after;
  pushed.py += 1e-9;
  checks.that(check_momentum(before, pushed, 64, physics, Precision::both_double).value > 1,
              "a momentum out of nowhere");
  field.ax[0] = std::nan("");
  const auto verdict = check_forces(bodies, field, physics, Precision::both_double);
  checks.that(!residual({verdict}).passed() && !residual({Verdict{}, verdict, Verdict{}}).passed(), "NaN is no pass");
  // One body of a thousand is left out.
  physics.force_factor = 1;
  field = all_pairs(bodies, physics);
  Bodies fewer = bodies;
  fewer.m[500] = 0;
  checks.that(check_forces(bodies, all_pairs(fewer, physics), physics, Precision::single).value > 1, "a body left out");
}

}  // namespace shakedown::nbody
