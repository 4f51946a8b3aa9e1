// The loops for the baseline of any architecture: 2 cells at a time, which SSE2 and NEON have.
#include "lanes.hpp"
#include "loops.hpp"

namespace shakedown::hydro {
namespace {

using Two = double __attribute__((vector_size(16)));
using TwoBits = std::int64_t __attribute__((vector_size(16)));

struct Plain : Lanes<Plain, Two, TwoBits> {
  SHAKEDOWN_INLINE static V sqrt(V x) { return V{__builtin_sqrt(x[0]), __builtin_sqrt(x[1])}; }
  SHAKEDOWN_INLINE static V most(V a, V b) { return a > b ? a : b; }
  SHAKEDOWN_INLINE static V least(V a, V b) { return a < b ? a : b; }
  SHAKEDOWN_INLINE static bool any(M m) { return (m[0] | m[1]) != 0; }
};

}  // namespace

extern const Isa kPlain;
const Isa kPlain = {"plain", advance<Plain>, fastest<Plain>};

}  // namespace shakedown::hydro
