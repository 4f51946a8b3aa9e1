// The kernels that CMake embeds in a program (shakedown_gpu_kernels in cmake/cuda.cmake).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Declares NAME_image(): the compiled kernels of the program NAME; empty where the build had no compiler for them.
#define SHAKEDOWN_GPU_IMAGE(name)                                                                      \
  extern "C" const unsigned char shakedown_gpu_image_##name[];                                         \
  extern "C" const std::uint64_t shakedown_gpu_image_##name##_bytes;                                   \
  inline std::span<const unsigned char> name##_image() {                                               \
    return {shakedown_gpu_image_##name, static_cast<std::size_t>(shakedown_gpu_image_##name##_bytes)}; \
  }                                                                                                    \
  static_assert(true)
