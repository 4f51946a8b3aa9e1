// Fills a matrix of n rows and n columns of X or, where it is stored turned, of its transpose.
#include "entries.hpp"

extern "C" __global__ void fill(void* to, int format, int data, unsigned long long seed, size_t n, int turned) {
  namespace own = shakedown::gpu_gemm;
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  const int bytes = own::width(format);
  for (size_t at = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < n * n; at += step) {
    const size_t fast = at % n, slow = at / n;
    own::put(to, at, bytes, own::entry(format, data, seed, turned ? slow : fast, turned ? fast : slow).bits);
  }
}
