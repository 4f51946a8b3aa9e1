// Four links at a time.
#include "loops.hpp"

namespace shakedown::radio {

extern const Isa kAvx2;
const Isa kAvx2 = {"avx2", 4, losses_by<Lanes<double, 4>>, losses_by<Lanes<float, 8>>};

}  // namespace shakedown::radio
