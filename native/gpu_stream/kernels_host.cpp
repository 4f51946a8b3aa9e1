// The host backend's equivalents of kernels.cu.
#include <array>

#include "entries.hpp"
#include "gpu/host.hpp"
#include "gpu/image.hpp"
#include "gpu_stream.hpp"

SHAKEDOWN_GPU_IMAGE(gpu_stream);

namespace shakedown::gpu_stream {
namespace {

template <unsigned kKernel>
void stream(const gpu::Grid&, double* a, double* b, double* c, double q, std::size_t pairs) {
  gpu::parallel(2 * pairs, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if constexpr (kKernel == 0) c[i] = a[i];
      if constexpr (kKernel == 1) b[i] = q * c[i];
      if constexpr (kKernel == 2) c[i] = a[i] + b[i];
      if constexpr (kKernel == 3) a[i] = b[i] + q * c[i];
    }
  });
}

void fill(const gpu::Grid&, double* to, unsigned array, std::size_t count) {
  gpu::parallel(count, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = entry(array, i);
  });
}

void check(const gpu::Grid&, const double* at, unsigned kernel, std::size_t count, unsigned long long* wrong) {
  for (std::size_t i = 0; i < count; ++i) *wrong += at[i] != result(kernel, i) ? 1 : 0;
}

const gpu::HostKernel kHost[] = {
    gpu::host_kernel<stream<0>>("copy_u1"),  gpu::host_kernel<stream<1>>("scale_u1"),
    gpu::host_kernel<stream<2>>("add_u1"),   gpu::host_kernel<stream<3>>("triad_u1"),
    gpu::host_kernel<stream<0>>("copy_u2"),  gpu::host_kernel<stream<1>>("scale_u2"),
    gpu::host_kernel<stream<2>>("add_u2"),   gpu::host_kernel<stream<3>>("triad_u2"),
    gpu::host_kernel<stream<0>>("copy_u4"),  gpu::host_kernel<stream<1>>("scale_u4"),
    gpu::host_kernel<stream<2>>("add_u4"),   gpu::host_kernel<stream<3>>("triad_u4"),
    gpu::host_kernel<stream<0>>("copy_u1s"), gpu::host_kernel<stream<1>>("scale_u1s"),
    gpu::host_kernel<stream<2>>("add_u1s"),  gpu::host_kernel<stream<3>>("triad_u1s"),
    gpu::host_kernel<stream<0>>("copy_u2s"), gpu::host_kernel<stream<1>>("scale_u2s"),
    gpu::host_kernel<stream<2>>("add_u2s"),  gpu::host_kernel<stream<3>>("triad_u2s"),
    gpu::host_kernel<stream<0>>("copy_u4s"), gpu::host_kernel<stream<1>>("scale_u4s"),
    gpu::host_kernel<stream<2>>("add_u4s"),  gpu::host_kernel<stream<3>>("triad_u4s"),
    gpu::host_kernel<fill>("fill"),          gpu::host_kernel<check>("check"),
};

}  // namespace

const gpu::Module kModule{gpu_stream_image(), kHost};

}  // namespace shakedown::gpu_stream
