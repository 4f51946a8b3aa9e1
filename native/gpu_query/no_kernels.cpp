// The query has no kernels: the fake driver asks for a module all the same.
#include "gpu/gpu.hpp"

namespace shakedown::gpu_query {
extern const gpu::Module kModule;
const gpu::Module kModule{{}, {}};
}  // namespace shakedown::gpu_query
