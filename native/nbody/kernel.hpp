// The loops of the CPU, one set an instruction set: what a source named for one brings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shakedown::nbody {

/// Sources on targets: for each target i of `targets`, add to the sums what the sources j give, each term being
/// m_j (r_j - r_i) / (|r_j - r_i|^2 + eps2)^(3/2). All arrays are aligned to 64 bytes; `targets` is a multiple of the
/// set's `block`; `sources` is any number. Sums over one call are in T, what is added to is double.
template <class T>
struct Tile {
  const T *tx, *ty, *tz;  // targets
  std::size_t targets;
  const T *sx, *sy, *sz, *sm;  // sources; sm is the mass times the set's mass_scale
  std::size_t sources;
  T eps2;
  double *ax, *ay, *az;  // of the targets
  double* phi;           // of the targets: sum of m / sqrt(...) with the mass scaled; only for `potentials`
};

/// One precision's loops.
template <class T>
struct Loops {
  void (*forces)(const Tile<T>&);
  void (*potentials)(const Tile<T>&);  // forces too
  std::size_t block;                   // targets come in multiples of this
  double mass_scale;                   // what masses are multiplied by before, folded into the force
  double instructions;                 // vector instructions of the inner loop for a vector of terms; 0: not counted
  double multiplies;  // of these, those that only a multiplier does: products, multiply-adds, estimates
  std::size_t lanes;
};

struct Isa {
  const char* name;
  Loops<float> single;
  Loops<double> both_double;
};
template <class T>
const Loops<T>& loops_of(const Isa& isa) {
  if constexpr (sizeof(T) == 4) {
    return isa.single;
  } else {
    return isa.both_double;
  }
}

/// The names of those that were built in, widest first; "plain" last.
std::vector<std::string> isas_built();
/// Throws "could not measure" for one that was not built in. The machine must run it.
const Isa& isa_of(const std::string& name);
/// Those that were built in and run on this machine.
std::vector<const Isa*> isas_here();

}  // namespace shakedown::nbody
