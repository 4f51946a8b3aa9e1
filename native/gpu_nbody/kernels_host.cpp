// The kernels' own source, run on the host: see gpu/emulate.hpp.
#include "gpu/image.hpp"
#include "kernels.cu"  // NOLINT(bugprone-suspicious-include): that is the point

SHAKEDOWN_GPU_IMAGE(gpu_nbody);

namespace shakedown::gpu_nbody {
namespace {

namespace emulate = gpu::emulate;
constexpr auto kPlain = emulate::Kind::plain, kBarriers = emulate::Kind::barriers;

const gpu::HostKernel kHost[] = {
    emulate::kernel<forces_fp32_r2u8, kBarriers>("forces_fp32_r2u8"),
    emulate::kernel<forces_fp32_r4u4, kBarriers>("forces_fp32_r4u4"),
    emulate::kernel<forces_fp32_r4u8, kBarriers>("forces_fp32_r4u8"),
    emulate::kernel<forces_fp32_r6u4, kBarriers>("forces_fp32_r6u4"),
    emulate::kernel<forces_fp32_r8u2, kBarriers>("forces_fp32_r8u2"),
    emulate::kernel<forces_fp64_r1u8, kBarriers>("forces_fp64_r1u8"),
    emulate::kernel<forces_fp64_r2u4, kBarriers>("forces_fp64_r2u4"),
    emulate::kernel<forces_fp64_r4u4, kBarriers>("forces_fp64_r4u4"),
    emulate::kernel<potential_fp32, kBarriers>("potential_fp32"),
    emulate::kernel<potential_fp64, kBarriers>("potential_fp64"),
    emulate::kernel<add_potentials, kPlain>("add_potentials"),
    emulate::kernel<set_off_fp32, kPlain>("set_off_fp32"),
    emulate::kernel<set_off_fp64, kPlain>("set_off_fp64"),
    emulate::kernel<finish_fp32, kPlain>("finish_fp32"),
    emulate::kernel<finish_fp64, kPlain>("finish_fp64"),
};

}  // namespace

extern const gpu::Module kModule;
const gpu::Module kModule{gpu_nbody_image(), kHost};

}  // namespace shakedown::gpu_nbody
