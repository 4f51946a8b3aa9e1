// A fluid to begin with, and what must be true of it: the host's side of every backend, in double and long double.
#pragma once

#include <string>

#include "common/emit.hpp"
#include "lj.hpp"

namespace shakedown::lj {

enum class Start { fcc, random };

/// `count` particles at this density in a cubic box: on a face-centred cubic lattice (some of its sites left free,
/// evenly, where the count is not 4 k^3), or at random places no nearer than 0.9 to each other. Velocities are Gaussian
/// at this temperature, without a motion of the whole. Throws "could not measure" where random places cannot be found.
State fluid(std::size_t count, double density, double temperature, Start start, std::uint64_t seed);

/// What the fluid has at one instant, per particle where it is extensive.
struct Point {
  double temperature = 0, potential = 0, pressure = 0;
  double energy = 0;  // with the potential shifted to zero at the cutoff: what the truncated force conserves
};
Point point(const Thermo& thermo, const State& state, const Physics& physics);
/// 4 (r^-12 - r^-6)
double pair_potential(double r);

/// A deviation over its bound, and in words: passes where the value is at most 1.
struct Verdict {
  double value = 0;
  std::string words;
};

/// The longest step that follows a meeting of two particles at this temperature: a tenth of the period with which
/// they would swing where they come nearest.
double longest_step(double temperature);

/// The forces on up to 64 particles over the whole range, summed again in long double over all particles.
Verdict check_forces(const State& state, const Forces& forces, const Physics& physics, Precision precision);
/// The mean of the squared forces, as the median over fifteen parts of the particles: some that are wrong do not count.
double mean_square(const Forces& forces);
/// The energies (per particle) before the first and after each sample of `steps` steps: how far they strayed. `force2`:
/// see mean_square; 0: not known.
Verdict check_energy(const std::vector<double>& energies, std::int64_t steps, double temperature, const State& state,
                     const Physics& physics, double force2 = 0);
/// The momentum, which is zero at the start, after so many steps.
Verdict check_momentum(const Thermo& thermo, std::int64_t steps, std::size_t count, const Physics& physics,
                       Precision precision);
/// All of them as the residual of a case: the largest, with its words.
Residual residual(const std::vector<Verdict>& verdicts);

/// The particles as a data file of LAMMPS (units lj, atom_style atomic). Throws "could not measure" where it cannot be
/// written.
void write_lammps(const State& state, const std::string& path);

}  // namespace shakedown::lj
