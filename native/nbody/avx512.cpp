// The loops in AVX-512.
#include "avx512.hpp"

namespace shakedown::nbody {
extern const Isa kAvx512;
const Isa kAvx512 = {"avx512", Inner<Single>::loops(), Inner<Double>::loops()};
}  // namespace shakedown::nbody
