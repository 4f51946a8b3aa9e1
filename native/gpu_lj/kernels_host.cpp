// The kernels' own source, run on the host: see gpu/emulate.hpp.
#include "gpu/image.hpp"
#include "gpu_lj.hpp"
#include "kernels.cu"  // NOLINT(bugprone-suspicious-include): that is the point

SHAKEDOWN_GPU_IMAGE(gpu_lj);

namespace shakedown::gpu_lj {
namespace {

namespace emulate = gpu::emulate;
constexpr auto kTogether = emulate::Kind::together, kBarriers = emulate::Kind::barriers, kPlain = emulate::Kind::plain;

#define GPU_LJ_ENTRIES(name, lanes)                                                    \
  emulate::kernel<lj_steps_##name##_##lanes, kTogether>("lj_steps_" #name "_" #lanes), \
      emulate::kernel<lj_observe_##name##_##lanes, kBarriers>("lj_observe_" #name "_" #lanes)
const gpu::HostKernel kHost[] = {
    GPU_LJ_ENTRIES(mixed, 1), GPU_LJ_ENTRIES(mixed, 2), GPU_LJ_ENTRIES(mixed, 4),
    GPU_LJ_ENTRIES(mixed, 8), GPU_LJ_ENTRIES(fp64, 1),  GPU_LJ_ENTRIES(fp64, 2),
    GPU_LJ_ENTRIES(fp64, 4),  GPU_LJ_ENTRIES(fp64, 8),  emulate::kernel<lj_scale, kPlain>("lj_scale"),
};

}  // namespace

const gpu::Module kModule{gpu_lj_image(), kHost};

}  // namespace shakedown::gpu_lj
