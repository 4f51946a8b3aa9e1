// lj: molecular dynamics of a Lennard-Jones fluid at constant energy (velocity Verlet), truncated at a cutoff. The
// interface, on one screen: a backend holds the particles in its own precision and layout and does the work; main.cpp
// times it and judges it from the host's side. README.md says how the number is made. Units: sigma, epsilon and the
// mass are 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/json.hpp"

namespace shakedown::lj {

/// Particles in a cubic box with edges of `length`, periodic; places in [0, length). In double whatever the backend
/// uses.
struct State {
  double length = 0;
  std::vector<double> x, y, z, vx, vy, vz;
  [[nodiscard]] std::size_t count() const { return x.size(); }
  void resize(std::size_t n) {
    for (auto* column : {&x, &y, &z, &vx, &vy, &vz}) column->resize(n);
  }
};
struct Forces {
  std::vector<double> x, y, z;
};

/// mixed: pairs in single precision, places, velocities and sums in higher; both_double: pairs in double too.
enum class Precision { mixed, both_double };
inline const char* word(Precision precision) { return precision == Precision::mixed ? "mixed" : "fp64"; }
/// The distance of 1 to the next number in which pairs are computed.
inline double epsilon(Precision precision) { return precision == Precision::mixed ? 0x1p-23 : 0x1p-52; }

struct Physics {
  double cutoff = 3.0;
  double dt = 0.005;
  double force_factor = 1;  // of every force; other than 1 only to see the checks fail
};

/// Sums over the whole fluid at one instant, places and velocities at the same time.
struct Thermo {
  double potential = 0;  // sum over pairs within the cutoff of 4 (r^-12 - r^-6)
  double kinetic = 0;
  double virial = 0;  // sum over pairs of r . f
  double pairs = 0;   // within the cutoff
  double px = 0, py = 0, pz = 0;
};

/// One place that computes: the CPU's threads, or a GPU. Use from one thread. load comes first; the rest at will.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual void load(const State& state) = 0;
  /// Neighbours are listed out to cutoff + skin, and again once two particles may have come nearer by the skin.
  virtual void set_skin(double skin) = 0;
  /// So many steps of velocity Verlet; returns their seconds.
  virtual double advance(std::int64_t steps) = 0;
  /// Multiply all velocities (which brings a fluid to a temperature).
  virtual void scale_velocities(double factor) = 0;
  virtual Thermo thermo() = 0;
  /// The particles in the order of load(), velocities and forces at the same time as the places.
  virtual void store(State& state, Forces& forces) = 0;
  /// What was done since load(): rebuilds of the lists, entries of the last lists, and what belongs to the backend.
  virtual Object counters() = 0;
};

}  // namespace shakedown::lj
