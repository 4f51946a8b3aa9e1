// The entries of the matrices, by place and format: plain C++17, for kernels too.
#pragma once

#include "gpu/formats.hpp"

namespace shakedown::gpu_gemm {

/// The formats by number, in the order of gpu::Format, and what the matrices hold.
enum : int { kF64, kF32, kTf32, kBf16, kF16, kI8, kF8 };
enum : int { kRandom, kOnes, kZeros };

/// An entry as its bits and as the number that it stands for.
struct Entry {
  std::uint64_t bits;
  double value;
};

SHAKEDOWN_BOTH std::uint64_t double_bits(double x) {
  std::uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

SHAKEDOWN_BOTH Entry small(float x, gpu::SmallFormat format) {
  const std::uint32_t code = gpu::narrow(x, format);
  return {code, static_cast<double>(gpu::widen(code, format))};
}

/// Entry (i, j) of matrix `seed`: uniform in [-0.5, 0.5) rounded to the format (8-bit integers: -128 to 127), or 1, or
/// 0.
SHAKEDOWN_BOTH Entry entry(int format, int data, std::uint64_t seed, std::uint64_t i, std::uint64_t j) {
  const std::uint64_t random = gpu::random_bits(seed, i + (j << 32));
  if (format == kF64) {
    const double x = data == kRandom ? gpu::uniform_double(random) : data == kOnes ? 1.0 : 0.0;
    return {double_bits(x), x};
  }
  if (format == kI8) {
    const int x = data == kRandom ? static_cast<int>(random >> 56) - 128 : data == kOnes ? 1 : 0;
    return {static_cast<std::uint64_t>(static_cast<std::uint8_t>(x)), static_cast<double>(x)};
  }
  const float x = data == kRandom ? gpu::uniform_float(random) : data == kOnes ? 1.0f : 0.0f;
  switch (format) {
    case kF32:
      return {gpu::bits_of(x), static_cast<double>(x)};
    case kTf32: {
      const float rounded = gpu::to_tf32(x);
      return {gpu::bits_of(rounded), static_cast<double>(rounded)};
    }
    case kBf16:
      return small(x, gpu::kBfloat);
    case kF16:
      return small(x, gpu::kHalf);
    default:
      return small(x, gpu::kE4m3);
  }
}

/// Bytes of an entry of A and B.
SHAKEDOWN_BOTH int width(int format) {
  return format == kF64 ? 8 : format == kF32 || format == kTf32 ? 4 : format == kBf16 || format == kF16 ? 2 : 1;
}

SHAKEDOWN_BOTH void put(void* at, std::size_t place, int bytes, std::uint64_t bits) {
  switch (bytes) {
    case 8:
      static_cast<std::uint64_t*>(at)[place] = bits;
      break;
    case 4:
      static_cast<std::uint32_t*>(at)[place] = static_cast<std::uint32_t>(bits);
      break;
    case 2:
      static_cast<std::uint16_t*>(at)[place] = static_cast<std::uint16_t>(bits);
      break;
    default:
      static_cast<std::uint8_t*>(at)[place] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace shakedown::gpu_gemm
