// One link at a time, for every processor and as the check of the rest.
#include "loops.hpp"

namespace shakedown::radio {

extern const Isa kPlain;
const Isa kPlain = {"plain", 1, losses_by<Lanes<double, 1>>, losses_by<Lanes<float, 1>>};

}  // namespace shakedown::radio
