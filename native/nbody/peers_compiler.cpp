#include "peers.hpp"
#include "plain.hpp"

namespace shakedown::nbody {
const Isa kCompiler = {"compiler", loops<float>(), loops<double>()};
}  // namespace shakedown::nbody
