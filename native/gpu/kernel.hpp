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
/// They lie in the device's memory or in pinned memory of the host: addresses of that space are told as such, as a
/// generic one would make the sum an atomic whose answer is waited for.
__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* from, bool system) {
  std::uint64_t value;
  if (system) {
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)) : "memory");
  } else {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)) : "memory");
  }
  return value;
}
/// For loops that wait: an acquire empties the first-level cache, from which another block may be reading. What is seen
/// says nothing of other words until load_acquire sees it too.
__device__ __forceinline__ std::uint64_t load_relaxed(const std::uint64_t* from, bool system) {
  std::uint64_t value;
  if (system) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)));
  } else {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)));
  }
  return value;
}
__device__ __forceinline__ void store_release(std::uint64_t* to, std::uint64_t value, bool system) {
  if (system) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value) : "memory");
  } else {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value) : "memory");
  }
}
/// A word that blocks add to, each telling the others that what it wrote before is there.
__device__ __forceinline__ void add_release(std::uint64_t* to, std::uint64_t value) {
  asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value) : "memory");
}
/// Past the first-level cache, which may hold what stood there before.
template <class T>
__device__ __forceinline__ T load_fresh(const T* from) {
  return __ldcg(from);
}

/// The largest value of a warp's 32 threads, for each of them.
__device__ __forceinline__ unsigned warp_max(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(~0u, value);
#else
  for (int away = 16; away > 0; away /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, value, away);
    value = other > value ? other : value;
  }
  return value;
#endif
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
