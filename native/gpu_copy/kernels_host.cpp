// The host backend's equivalents of kernels.cu.
#include "gpu/formats.hpp"
#include "gpu/host.hpp"
#include "gpu/image.hpp"
#include "gpu_copy.hpp"

SHAKEDOWN_GPU_IMAGE(gpu_copy);

namespace shakedown::gpu_copy {
namespace {

void words(const gpu::Grid&, Word* to, Word seed, std::size_t count) {
  gpu::parallel(count, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = gpu::random_bits(seed, i);
  });
}

void compare(const gpu::Grid&, const Word* at, Word seed, std::size_t count, Word* wrong) {
  for (std::size_t i = 0; i < count; ++i) *wrong += at[i] != gpu::random_bits(seed, i) ? 1 : 0;
}

void triad(const gpu::Grid&, const float* a, const float* b, float* c, float s, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + s * b[i];
}

void nothing(const gpu::Grid&, unsigned) {}

const gpu::HostKernel kHost[] = {gpu::host_kernel<words>("words"), gpu::host_kernel<compare>("compare"),
                                 gpu::host_kernel<triad>("triad"), gpu::host_kernel<nothing>("nothing")};

}  // namespace

const gpu::Module kModule{gpu_copy_image(), kHost};

}  // namespace shakedown::gpu_copy
