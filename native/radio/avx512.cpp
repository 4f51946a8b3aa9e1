// Eight links at a time.
#include "loops.hpp"

namespace shakedown::radio {

extern const Isa kAvx512;
const Isa kAvx512 = {"avx512", 8, losses_by<Lanes<double, 8>>, losses_by<Lanes<float, 16>>};

}  // namespace shakedown::radio
