// What tests compare every backend with: sums over all pairs, and velocity Verlet as in the books.
#pragma once

#include <cmath>

#include "lj.hpp"

namespace shakedown::lj {

inline double nearest(double d, double length) { return d - length * std::nearbyint(d / length); }

/// Everything by a loop over all pairs.
inline Thermo all_pairs(const State& state, double cutoff, Forces* forces = nullptr) {
  Thermo sums;
  long double potential = 0, virial = 0;
  const std::size_t n = state.count();
  if (forces != nullptr) forces->x.assign(n, 0), forces->y.assign(n, 0), forces->z.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double dx = nearest(state.x[i] - state.x[j], state.length),
                   dy = nearest(state.y[i] - state.y[j], state.length),
                   dz = nearest(state.z[i] - state.z[j], state.length);
      const double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 >= cutoff * cutoff) continue;
      const double s3 = 1 / (r2 * r2 * r2), f = 48 * s3 * (s3 - 0.5) / r2;
      potential += 4 * s3 * (s3 - 1);
      virial += f * r2;
      sums.pairs += 1;
      if (forces == nullptr) continue;
      forces->x[i] += f * dx, forces->y[i] += f * dy, forces->z[i] += f * dz;
      forces->x[j] -= f * dx, forces->y[j] -= f * dy, forces->z[j] -= f * dz;
    }
    sums.kinetic += (state.vx[i] * state.vx[i] + state.vy[i] * state.vy[i] + state.vz[i] * state.vz[i]) / 2;
  }
  sums.potential = static_cast<double>(potential);
  sums.virial = static_cast<double>(virial);
  return sums;
}

inline bool near(double found, double expected, double relative) {
  return std::fabs(found - expected) <= relative * std::fabs(expected);
}

/// So many steps of velocity Verlet, written down as in the books.
inline void verlet(State& state, const Physics& physics, int steps) {
  Forces f;
  all_pairs(state, physics.cutoff, &f);
  const auto kick = [&] {
    for (std::size_t i = 0; i < state.count(); ++i) {
      state.vx[i] += physics.dt / 2 * f.x[i], state.vy[i] += physics.dt / 2 * f.y[i],
          state.vz[i] += physics.dt / 2 * f.z[i];
    }
  };
  for (int step = 0; step < steps; ++step) {
    kick();
    for (std::size_t i = 0; i < state.count(); ++i) {
      state.x[i] += physics.dt * state.vx[i], state.y[i] += physics.dt * state.vy[i],
          state.z[i] += physics.dt * state.vz[i];
    }
    all_pairs(state, physics.cutoff, &f);
    kick();
  }
}

}  // namespace shakedown::lj
