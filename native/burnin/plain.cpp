#include "tile.hpp"

namespace shakedown::burnin {
namespace {

struct Double {
  using Register = double;
  static constexpr int kLanes = 1;
  static constexpr bool kFused = false;
  static Register zero() { return 0; }
  static Register set(double x) { return x; }
  static Register load(const double* at) { return *at; }
  static void store(double* at, Register x) { *at = x; }
  static Register multiply_add(Register acc, Register a, Register b) {
    const double term = a * b;
    return acc + term;
  }
};

}  // namespace

extern const Kernel kPlainKernel = Tile<Double, 4, 4>::kernel("plain");

}  // namespace shakedown::burnin
