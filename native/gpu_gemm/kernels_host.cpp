// The host backend's equivalent of kernels.cu.
#include "gpu/host.hpp"
#include "gpu/image.hpp"
#include "gpu_gemm.hpp"

SHAKEDOWN_GPU_IMAGE(gpu_gemm);

namespace shakedown::gpu_gemm {
namespace {

void fill(const gpu::Grid&, void* to, int format, int data, unsigned long long seed, std::size_t n, int turned) {
  gpu::parallel(n * n, [=](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t fast = at % n, slow = at / n;
      put(to, at, width(format), entry(format, data, seed, turned != 0 ? slow : fast, turned != 0 ? fast : slow).bits);
    }
  });
}

const gpu::HostKernel kHost[] = {gpu::host_kernel<fill>("fill")};

}  // namespace

const gpu::Module kModule{gpu_gemm_image(), kHost};

}  // namespace shakedown::gpu_gemm
