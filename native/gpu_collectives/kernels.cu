// What gpu_collectives does on a device besides the library's work: inputs made and results compared.
#include "content.hpp"

namespace {

__device__ size_t first() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ size_t step() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

}  // namespace

extern "C" __global__ void make_input(void* to, int type, unsigned long long seed, int rank, size_t count) {
  for (size_t i = first(); i < count; i += step()) {
    const unsigned long long word = shakedown::gpu_collectives::sent(type, seed, i, rank);
    if (type == shakedown::gpu_collectives::kFloat) {
      static_cast<unsigned*>(to)[i] = static_cast<unsigned>(word);
    } else {
      static_cast<unsigned long long*>(to)[i] = word;
    }
  }
}

/// How many elements are not what they must be.
extern "C" __global__ void compare(const void* at, shakedown::gpu_collectives::Origin origin, size_t count,
                                   unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (size_t i = first(); i < count; i += step()) {
    const unsigned long long found = origin.type == shakedown::gpu_collectives::kFloat
                                         ? static_cast<const unsigned*>(at)[i]
                                         : static_cast<const unsigned long long*>(at)[i];
    mine += found != shakedown::gpu_collectives::expected(origin, i) ? 1 : 0;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}
