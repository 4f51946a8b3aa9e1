// What the steps of a model need in order to be compiled for lanes of a register, and by nvcc for a thread of a device.
// Files that include no more than this (itm_prepared, itm_geometry, itm_loss, itm_variability) are C++17 and know
// nothing of a lane but its operators and the functions that scalar.hpp and lanes.hpp both have.
#pragma once

// Everything in one function, and networks without a loop: but under a sanitizer, whose checks would make that a matter
// of minutes for the compiler.
#if defined(__CUDACC__)
#define SHAKEDOWN_LANES __device__ __forceinline__
#define SHAKEDOWN_UNROLL _Pragma("unroll")
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHAKEDOWN_LANES inline
#define SHAKEDOWN_UNROLL
#else
#define SHAKEDOWN_LANES inline __attribute__((always_inline))
#define SHAKEDOWN_UNROLL _Pragma("GCC unroll 191")
#endif
