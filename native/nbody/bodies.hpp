// Bodies to begin with, and what must be true of them: the host's side of every backend, in double and long double.
#pragma once

#include <string>

#include "common/emit.hpp"
#include "nbody.hpp"

namespace shakedown::nbody {

/// A Plummer sphere of total mass 1 with its length a = 3 pi / 16, cut at ten times that, positions and velocities
/// drawn as S. J. Aarseth, M. Henon, R. Wielen (Astronomy and Astrophysics 37, 183, 1974, appendix) say; velocities are
/// then made smaller by 1/sqrt(2), so that the sphere contracts and energy really goes from one form to the other.
/// Masses differ: m_i is proportional to 1, 2 or 3 in turn.
Bodies plummer(std::size_t count, std::uint64_t seed);

/// The numbers that are conserved, and what their bounds are made of.
struct Ledger {
  double kinetic = 0, potential = 0;
  double px = 0, py = 0, pz = 0;
  double force2 = 0;  // sum of m a^2
  double push = 0;    // sum of m |a|
  double heaviest = 0;
  [[nodiscard]] double energy() const { return kinetic + potential; }
};
Ledger ledger(const Bodies& bodies, const Field& field);

/// A deviation over its bound, and in words: passes where the value is at most 1.
struct Verdict {
  double value = 0;
  std::string words;
};

/// The longest step at which the energy still proves something: an eighth of the shortest orbit of so many bodies.
double longest_step(std::size_t bodies, double softening);

/// The accelerations of up to 64 bodies over the whole range, summed again in long double over all bodies.
Verdict check_forces(const Bodies& bodies, const Field& field, const Physics& physics, Precision precision);
/// The change of the energy over `steps` steps against what leapfrog allows.
Verdict check_energy(const Ledger& before, const Ledger& after, std::int64_t steps, const Physics& physics,
                     Precision precision);
/// The change of the momentum over `steps` steps against rounding.
Verdict check_momentum(const Ledger& before, const Ledger& after, std::int64_t steps, const Physics& physics,
                       Precision precision);

/// All of them as the residual of a case: the largest, with its words.
Residual residual(const std::vector<Verdict>& verdicts);

}  // namespace shakedown::nbody
