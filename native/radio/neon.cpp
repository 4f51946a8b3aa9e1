// Two links at a time.
#include "loops.hpp"

namespace shakedown::radio {

extern const Isa kNeon;
const Isa kNeon = {"neon", 2, losses_by<Lanes<double, 2>>, losses_by<Lanes<float, 4>>};

}  // namespace shakedown::radio
