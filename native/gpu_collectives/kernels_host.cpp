// The host backend's equivalents of kernels.cu.
#include "content.hpp"
#include "gpu/image.hpp"
#include "kernels.hpp"

SHAKEDOWN_GPU_IMAGE(gpu_collectives);

namespace shakedown::gpu_collectives {
namespace {

void make_input(const gpu::Grid&, void* to, int type, Word seed, int rank, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Word word = sent(type, seed, i, rank);
    if (type == kFloat) {
      static_cast<std::uint32_t*>(to)[i] = static_cast<std::uint32_t>(word);
    } else {
      static_cast<Word*>(to)[i] = word;
    }
  }
}

void compare(const gpu::Grid&, const void* at, Origin origin, std::size_t count, Word* wrong) {
  for (std::size_t i = 0; i < count; ++i) {
    const Word found =
        origin.type == kFloat ? Word{static_cast<const std::uint32_t*>(at)[i]} : static_cast<const Word*>(at)[i];
    *wrong += found != expected(origin, i) ? 1 : 0;
  }
}

const gpu::HostKernel kHost[] = {gpu::host_kernel<make_input>("make_input"), gpu::host_kernel<compare>("compare")};

}  // namespace

const gpu::Module kModule{gpu_collectives_image(), kHost};

}  // namespace shakedown::gpu_collectives
