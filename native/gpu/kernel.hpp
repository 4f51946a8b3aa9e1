// The first include of a file of kernels that is compiled twice: by nvcc for devices, and as C++ for the host backend
// and the tests, where emulate.hpp runs it. These are the words that differ; the rest are CUDA's own.
#pragma once

#ifndef __CUDACC__
#include "gpu/emulate.hpp"
#else

#include <cstdint>

#define GPU_PRAGMA(words) _Pragma(#words)
#define GPU_DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#define GPU_UNROLL(count) GPU_PRAGMA(unroll count)

namespace shakedown {

/// In a loop that waits for another block or for the host.
__device__ __forceinline__ void spin() {}

/// Words by which blocks of a grid tell each other that something is there; with `system`, the device and the host.
__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* from, bool system) {
  std::uint64_t value;
  if (system) {
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  } else {
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  }
  return value;
}
__device__ __forceinline__ void store_release(std::uint64_t* to, std::uint64_t value, bool system) {
  if (system) {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  } else {
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
  }
}
/// A word that blocks add to, each telling the others that what it wrote before is there.
__device__ __forceinline__ void add_release(std::uint64_t* to, std::uint64_t value) {
  asm volatile("red.release.gpu.add.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
/// Past the first-level cache, which may hold what stood there before.
template <class T>
__device__ __forceinline__ T load_fresh(const T* from) {
  return __ldcg(from);
}

/// 1 / x to about 23 bits of a float and 20 of a double, by one instruction; beyond its range 0 or infinity.
__device__ __forceinline__ float reciprocal_estimate(float x) {
  float value;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}
__device__ __forceinline__ double reciprocal_estimate(double x) {
  double value;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(value) : "d"(x));
  return value;
}

}  // namespace shakedown
#endif
