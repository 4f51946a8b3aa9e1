// The loops for the baseline of any architecture: two numbers at a time, which SSE2 and NEON have.
#include "lanes.hpp"

namespace shakedown::hpcg {
namespace {

struct Plain : Lanes<double __attribute__((vector_size(16)))> {
  SHAKEDOWN_INLINE static bool consecutive(const std::int32_t* columns) {
    std::int32_t wrong = 0;
    for (std::int32_t i = 1; i < kRows; ++i) wrong |= columns[i] ^ (columns[0] + i);
    return wrong == 0;
  }
  SHAKEDOWN_INLINE static V gather(const double* x, const std::int32_t* columns) {
    return V{x[columns[0]], x[columns[1]]};
  }
};

}  // namespace

extern const Isa kPlain;
const Isa kPlain = loops<Plain>("plain");

}  // namespace shakedown::hpcg
