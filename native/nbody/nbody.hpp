// nbody: gravity of n bodies on each other, all pairs, softened, and leapfrog steps. The interface, on one screen: a
// backend holds the bodies in its own precision and layout and does the work; main.cpp times it and judges it from the
// host's side. README.md says how the number is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shakedown::nbody {

/// Bodies in units with G = 1, in double precision whatever the backend computes in.
struct Bodies {
  std::vector<double> x, y, z, vx, vy, vz, m;
  [[nodiscard]] std::size_t count() const { return m.size(); }
  void resize(std::size_t n) {
    for (auto* column : {&x, &y, &z, &vx, &vy, &vz, &m}) column->resize(n);
  }
};

/// What the bodies do to each other where they are: accelerations, and the sum of potentials over all others
/// (phi_i = - sum over j != i of m_j / sqrt(r_ij^2 + eps^2)).
struct Field {
  std::vector<double> ax, ay, az, phi;
};

enum class Precision { single, both_double };
inline const char* word(Precision precision) { return precision == Precision::single ? "fp32" : "fp64"; }
/// The distance of 1 to the next number: what rounding is counted in.
inline double epsilon(Precision precision) { return precision == Precision::single ? 0x1p-23 : 0x1p-52; }

struct Physics {
  double softening = 0.05;  // eps
  double dt = 0x1p-10;
  double force_factor = 1;  // of every acceleration; other than 1 only to see the checks fail
};

/// One place that computes: the CPU's threads, or a GPU. Use from one thread. The order of calls: load, evaluate, then
/// advance as often as wanted, store and evaluate between them at will.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Take the bodies, rounded to the backend's precision.
  virtual void load(const Bodies& bodies) = 0;
  /// The field where the bodies are now, found by the loops that advance() uses; the next step starts from it.
  virtual Field evaluate() = 0;
  /// So many leapfrog steps (kick, drift, kick); returns their seconds.
  virtual double advance(std::int64_t steps) = 0;
  /// The bodies as they are, exactly.
  virtual void store(Bodies& bodies) = 0;
};

}  // namespace shakedown::nbody
