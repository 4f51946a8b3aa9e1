// What gpu_copy does on a device: fill and compare words, a triad in single precision, and nothing.
#include "gpu/formats.hpp"

namespace {

__device__ size_t first() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ size_t step() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

}  // namespace

extern "C" __global__ void words(unsigned long long* to, unsigned long long seed, size_t count) {
  for (size_t i = first(); i < count; i += step()) to[i] = shakedown::gpu::random_bits(seed, i);
}

/// How many words are not those of the seed.
extern "C" __global__ void compare(const unsigned long long* at, unsigned long long seed, size_t count,
                                   unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (size_t i = first(); i < count; i += step()) mine += at[i] != shakedown::gpu::random_bits(seed, i) ? 1 : 0;
  if (mine != 0) atomicAdd(wrong, mine);
}

extern "C" __global__ void triad(const float* a, const float* b, float* c, float s, size_t count) {
  for (size_t i = first(); i < count; i += step()) c[i] = a[i] + s * b[i];
}

extern "C" __global__ void nothing(unsigned) {}
