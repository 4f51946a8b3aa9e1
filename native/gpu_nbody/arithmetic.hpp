// The arithmetic of one precision as the loops of kernels.cu use it. In single precision every step is on two sources
// at once, which a device of compute capability 10 and above does in one instruction (PTX: add, mul and fma .f32x2);
// others, and the host, do the two one after the other, as they would without. Double precision takes its sources one
// by one.
#pragma once

#include "gpu/kernel.hpp"

#if !defined(__CUDACC__)
#include <cmath>
#include <cstdint>
#include <cstring>
#endif

namespace shakedown::gpu_nbody {

/// An estimate of 1/sqrt(x), in one instruction of the units for special functions. Single: 1.1 epsilon at most, which
/// is all (PTX: rsqrt.approx.f32, 2^-22.9). Double: its upper half, made of the upper half of x: 2^-19 at most (20 bits
/// of mantissa in, 20 out; PTX: rsqrt.approx.ftz.f64), to be mended by a polynomial.
__device__ __forceinline__ float estimate(float x) {
#if defined(__CUDACC__)
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / std::sqrt(x);
#endif
}
__device__ __forceinline__ double estimate(double x) {
#if defined(__CUDACC__)
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  return y;
#else
  const auto upper = [](double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= ~std::uint64_t{0xffffffff};
    std::memcpy(&value, &bits, sizeof bits);
    return value;
  };
  return upper(1 / std::sqrt(upper(x)));
#endif
}

/// Two numbers in single precision, side by side in two registers.
struct alignas(8) Two {
  float a, b;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define GPU_NBODY_PACKED 1
#else
#define GPU_NBODY_PACKED 0
#endif

#if GPU_NBODY_PACKED
__device__ __forceinline__ unsigned long long bits(Two x) {
  unsigned long long packed;
  asm("mov.b64 %0, {%1, %2};" : "=l"(packed) : "f"(x.a), "f"(x.b));
  return packed;
}
__device__ __forceinline__ Two two(unsigned long long packed) {
  Two x;
  asm("mov.b64 {%0, %1}, %2;" : "=f"(x.a), "=f"(x.b) : "l"(packed));
  return x;
}
__device__ __forceinline__ Two add(Two x, Two y) {
  unsigned long long sum;
  asm("add.rn.f32x2 %0, %1, %2;" : "=l"(sum) : "l"(bits(x)), "l"(bits(y)));
  return two(sum);
}
__device__ __forceinline__ Two mul(Two x, Two y) {
  unsigned long long product;
  asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(product) : "l"(bits(x)), "l"(bits(y)));
  return two(product);
}
__device__ __forceinline__ Two fma(Two x, Two y, Two z) {
  unsigned long long sum;
  asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(sum) : "l"(bits(x)), "l"(bits(y)), "l"(bits(z)));
  return two(sum);
}
#else
__device__ __forceinline__ Two add(Two x, Two y) { return {x.a + y.a, x.b + y.b}; }
__device__ __forceinline__ Two mul(Two x, Two y) { return {x.a * y.a, x.b * y.b}; }
__device__ __forceinline__ Two fma(Two x, Two y, Two z) {
#if defined(__CUDACC__)
  return {fmaf(x.a, y.a, z.a), fmaf(x.b, y.b, z.b)};
#else
  return {x.a * y.a + z.a, x.b * y.b + z.b};  // a call of the C library where the baseline has no such instruction
#endif
}
#endif

/// What the loops ask for. `Wide` is as many numbers as there are sources in a step, kSources.
struct Single {
  using T = float;
  using Wide = Two;
  static constexpr int kSources = 2;
  __device__ __forceinline__ static Two set(float x) { return {x, x}; }
  __device__ __forceinline__ static Two add(Two x, Two y) { return gpu_nbody::add(x, y); }
  __device__ __forceinline__ static Two fma(Two x, Two y, Two z) { return gpu_nbody::fma(x, y, z); }
  /// m s^(-3/2) and m s^(-1/2).
  __device__ __forceinline__ static Two inverse_cube(Two s, Two m) {
    const Two y = {estimate(s.a), estimate(s.b)};
    return mul(mul(y, y), mul(m, y));
  }
  __device__ __forceinline__ static Two inverse_root(Two s, Two m) { return mul(m, {estimate(s.a), estimate(s.b)}); }
  __device__ __forceinline__ static double total(Two x) { return static_cast<double>(x.a + x.b); }
};

/// With y the estimate and e = 1 - s y^2, |e| <= 2^-18, s^(-3/2) = y^3 (1 + 3/2 e + 15/8 e^2 + 35/16 e^3 + ...) and
/// s^(-1/2) = y (1 + 1/2 e + 3/8 e^2 + 5/16 e^3 + ...). The cube is met by the line that is nearest to it, 3/4 2^-36 e,
/// which leaves 35/64 2^-54 = 3e-17.
struct Double {
  using T = double;
  using Wide = double;
  static constexpr int kSources = 1;
  static constexpr double kCube = 0.75 * 0x1p-36;
  __device__ __forceinline__ static double set(double x) { return x; }
  __device__ __forceinline__ static double add(double x, double y) { return x + y; }
  __device__ __forceinline__ static double fma(double x, double y, double z) {
#if defined(__CUDACC__)
    return ::fma(x, y, z);
#else
    return x * y + z;
#endif
  }
  __device__ __forceinline__ static double inverse_cube(double s, double m) {
    const double y = estimate(s), w = y * y;
    const double e = fma_exact(-s, w);
    const double p = fma(fma(15.0 / 8, e, 3.0 / 2 + 35.0 / 16 * kCube), e, 1);
    return (m * y) * (w * p);
  }
  __device__ __forceinline__ static double inverse_root(double s, double m) {
    const double y = estimate(s);
    const double e = fma_exact(-s, y * y);
    return (m * y) * fma(fma(3.0 / 8, e, 1.0 / 2 + 5.0 / 16 * kCube), e, 1);
  }
  __device__ __forceinline__ static double total(double x) { return x; }

 private:
  /// 1 + x y.
  __device__ __forceinline__ static double fma_exact(double x, double y) { return fma(x, y, 1); }
};

}  // namespace shakedown::gpu_nbody
