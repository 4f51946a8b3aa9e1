// The one kernel of the fake driver in this program's test, which native/gpu/fake_cufft.cpp starts as a real library
// starts its own. The program itself has none: it is built whole where there is no nvcc.
#include "gpu/gpu.hpp"
#include "gpu/transforms.hpp"

namespace shakedown::gpu_fft {
namespace {

void transform(const gpu::Grid&, const gpu::TransformShape* shape, int direction, const void* in, void* out) {
  const auto plan = gpu::host_transforms()->plan(*shape);
  plan->run(in, out, direction < 0 ? gpu::Way::forward : gpu::Way::backward, nullptr);
}
const gpu::HostKernel kHost[] = {gpu::host_kernel<transform>("transform")};

}  // namespace

extern const gpu::Module kModule;
const gpu::Module kModule{{}, kHost};

}  // namespace shakedown::gpu_fft
