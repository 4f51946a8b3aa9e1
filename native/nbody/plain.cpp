// The loops in ordinary C++ for the baseline: for any architecture.
#include "plain.hpp"

namespace shakedown::nbody {
extern const Isa kPlain;
const Isa kPlain = {"plain", loops<float>(), loops<double>()};
}  // namespace shakedown::nbody
