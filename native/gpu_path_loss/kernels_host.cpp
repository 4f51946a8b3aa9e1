// The kernels' own source, run on the host: see gpu/emulate.hpp.
#include "gpu/image.hpp"
#include "gpu_path_loss.hpp"
#include "kernels.cu"  // NOLINT(bugprone-suspicious-include): that is the point

SHAKEDOWN_GPU_IMAGE(gpu_path_loss);

namespace shakedown::gpu_path_loss {
namespace {

namespace emulate = gpu::emulate;
constexpr auto kBarriers = emulate::Kind::barriers;

const gpu::HostKernel kHost[] = {
    emulate::kernel<losses_fp32_int16, kBarriers>("losses_fp32_int16"),
    emulate::kernel<losses_fp32_float32, kBarriers>("losses_fp32_float32"),
    emulate::kernel<losses_fp64_int16, kBarriers>("losses_fp64_int16"),
    emulate::kernel<losses_fp64_float32, kBarriers>("losses_fp64_float32"),
};

}  // namespace

const gpu::Module kModule{gpu_path_loss_image(), kHost};

}  // namespace shakedown::gpu_path_loss
