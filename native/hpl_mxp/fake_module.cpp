// The kernels as the fake driver of native/gpu looks for them, in a library of its own.
#include "kernels.hpp"

namespace shakedown::hpl_mxp {

extern const gpu::Module kModule;
const gpu::Module kModule = module({});

}  // namespace shakedown::hpl_mxp
