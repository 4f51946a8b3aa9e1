// STREAM's four kernels on a device. A thread loads 16 bytes at a time, `kTurns` times before it uses the first: enough
// under way to hide the memory's latency. A block's part is contiguous. With kStream the lines are marked to be dropped
// first from the caches. The program tries all of them and takes the fastest (README.md).
#include "entries.hpp"

namespace {

namespace own = shakedown::gpu_stream;

template <bool kStream>
__device__ __forceinline__ double2 load(const double2* from) {
  return kStream ? __ldcs(from) : *from;
}
template <bool kStream>
__device__ __forceinline__ void store(double2* to, double2 value) {
  kStream ? __stcs(to, value) : static_cast<void>(*to = value);
}

struct Copy {
  __device__ static double2 make(double2 x, double2, double) { return x; }
};
struct Scale {
  __device__ static double2 make(double2 x, double2, double q) { return {q * x.x, q * x.y}; }
};
struct Add {
  __device__ static double2 make(double2 x, double2 y, double) { return {x.x + y.x, x.y + y.y}; }
};
struct Triad {
  __device__ static double2 make(double2 x, double2 y, double q) { return {x.x + q * y.x, x.y + q * y.y}; }
};

template <class Kind, bool kTwo, int kTurns, bool kStream>
__device__ __forceinline__ void run(double* to, const double* one, const double* two, double q, size_t pairs) {
  auto* out = reinterpret_cast<double2*>(to);
  const auto* x = reinterpret_cast<const double2*>(one);
  const auto* y = reinterpret_cast<const double2*>(two);
  const size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x * kTurns + threadIdx.x;
  // Only the last block can reach past the end: the others ask once, so that nothing stands between their loads.
  const bool whole = static_cast<size_t>(blockIdx.x + 1) * blockDim.x * kTurns <= pairs;
  double2 left[kTurns], right[kTurns];
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const size_t i = first + static_cast<size_t>(t) * blockDim.x;
    if (whole || i < pairs) {
      left[t] = load<kStream>(x + i);
      right[t] = kTwo ? load<kStream>(y + i) : double2{};
    }
  }
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const size_t i = first + static_cast<size_t>(t) * blockDim.x;
    if (whole || i < pairs) store<kStream>(out + i, Kind::make(left[t], right[t], q));
  }
}

}  // namespace

#define SHAKEDOWN_KERNELS(shape, turns, stream)                                                       \
  extern "C" __global__ void copy_##shape(double* a, double*, double* c, double q, size_t pairs) {    \
    run<Copy, false, turns, stream>(c, a, nullptr, q, pairs);                                         \
  }                                                                                                   \
  extern "C" __global__ void scale_##shape(double*, double* b, double* c, double q, size_t pairs) {   \
    run<Scale, false, turns, stream>(b, c, nullptr, q, pairs);                                        \
  }                                                                                                   \
  extern "C" __global__ void add_##shape(double* a, double* b, double* c, double q, size_t pairs) {   \
    run<Add, true, turns, stream>(c, a, b, q, pairs);                                                 \
  }                                                                                                   \
  extern "C" __global__ void triad_##shape(double* a, double* b, double* c, double q, size_t pairs) { \
    run<Triad, true, turns, stream>(a, b, c, q, pairs);                                               \
  }

SHAKEDOWN_KERNELS(u1, 1, false)
SHAKEDOWN_KERNELS(u2, 2, false)
SHAKEDOWN_KERNELS(u4, 4, false)
SHAKEDOWN_KERNELS(u1s, 1, true)
SHAKEDOWN_KERNELS(u2s, 2, true)
SHAKEDOWN_KERNELS(u4s, 4, true)

extern "C" __global__ void fill(double* to, unsigned array, size_t count) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = own::entry(array, i);
}

/// How many elements are not what the kernel should have written there.
extern "C" __global__ void check(const double* at, unsigned kernel, size_t count, unsigned long long* wrong) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    mine += at[i] != own::result(kernel, i) ? 1 : 0;
  if (mine != 0) atomicAdd(wrong, mine);
}
