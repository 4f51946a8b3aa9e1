// The contents of the arrays, by place: multiples of 1/1024 below 1, so that every result is exact in a double. Plain
// C++17, for kernels too.
#pragma once

#include "gpu/formats.hpp"

namespace shakedown::gpu_stream {

constexpr double kFactor = 3;

/// What array 0 (a), 1 (b) or 2 (c) holds at the start.
SHAKEDOWN_BOTH double entry(unsigned array, std::size_t i) {
  return static_cast<double>(gpu::random_bits(array, i) >> 54) * 0x1p-10;
}

/// What kernel 0 (copy: c = a), 1 (scale: b = q c), 2 (add: c = a + b) or 3 (triad: a = b + q c) writes at i.
SHAKEDOWN_BOTH double result(unsigned kernel, std::size_t i) {
  switch (kernel) {
    case 0:
      return entry(0, i);
    case 1:
      return kFactor * entry(2, i);
    case 2:
      return entry(0, i) + entry(1, i);
    default:
      return entry(1, i) + kFactor * entry(2, i);
  }
}

}  // namespace shakedown::gpu_stream
