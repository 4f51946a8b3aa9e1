// What kernels.cu and the host's side of it agree on. Plain C++17, for kernels too.
#pragma once

namespace shakedown::gpu_nbody {

template <class T>
struct alignas(4 * sizeof(T)) Body {
  T x, y, z, m;
};

constexpr unsigned kTile = 512;     // sources that pass through shared memory at a time
constexpr unsigned kThreads = 256;  // of a block, of every kernel

/// What follows when the parts' sums are added.
constexpr unsigned kFieldOnly = 0, kKick = 1, kKickAndGoOn = 2;

}  // namespace shakedown::gpu_nbody
