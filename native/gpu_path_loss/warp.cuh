// What the 32 threads of a warp do with one number each, or with eight.
#pragma once

#include "gpu/kernel.hpp"
//
#include "tasks.hpp"

namespace shakedown::gpu_path_loss {

/// The sum over all threads, the same bits in each of them.
template <class R>
__device__ __forceinline__ R warp_sum(R value) {
  for (unsigned away = kWarp / 2; away > 0; away /= 2) value += __shfl_xor_sync(~0u, value, away);
  return value;
}

/// A value and where it was met.
template <class R>
struct Best {
  R value;
  int at;
};
/// The largest of all threads; of equal ones that with the lowest place.
template <class R>
__device__ __forceinline__ Best<R> warp_best(Best<R> best) {
  for (unsigned away = kWarp / 2; away > 0; away /= 2) {
    const Best<R> other{__shfl_xor_sync(~0u, best.value, away), __shfl_xor_sync(~0u, best.at, away)};
    if (other.value > best.value || (!(other.value < best.value) && other.at < best.at)) best = other;
  }
  return best;
}

constexpr int kEach = 8;  // values of a thread; all 256 of a warp are sorted

/// Batcher's bitonic sort, upwards: thread t gets those of ranks 8 t to 8 t + 7.
template <class R>
__device__ __forceinline__ void warp_sort(R (&values)[kEach]) {
  const unsigned lane = threadIdx.x % kWarp;
  GPU_UNROLL(8)
  for (int p = 1; p <= 8; ++p) {
    GPU_UNROLL(8)
    for (int q = p - 1; q >= 0; --q) {
      const unsigned run = 1u << p, away = 1u << q;  // sorted runs become so long; what is compared lies so far apart
      if (away >= kEach) {
        const bool up = ((lane * kEach) & run) == 0, low = (lane & (away / kEach)) == 0;
        GPU_UNROLL(8)
        for (int k = 0; k < kEach; ++k) {
          const R other = __shfl_xor_sync(~0u, values[k], away / kEach);
          const bool take = up == low ? other < values[k] : other > values[k];
          values[k] = take ? other : values[k];
        }
      } else {
        GPU_UNROLL(8)
        for (unsigned k = 0; k < kEach; ++k) {
          if ((k & away) != 0) continue;
          const bool up = ((lane * kEach + k) & run) == 0;
          const R a = values[k], b = values[k | away];
          const bool turn = up ? b < a : a < b;
          values[k] = turn ? b : a;
          values[k | away] = turn ? a : b;
        }
      }
    }
  }
}

/// Of sorted values the one with this rank, which is the same for all threads.
template <class R>
__device__ __forceinline__ R warp_ranked(const R (&values)[kEach], int rank) {
  R mine = values[0];
  GPU_UNROLL(8)
  for (int k = 1; k < kEach; ++k) mine = rank % kEach == k ? values[k] : mine;
  return __shfl_sync(~0u, mine, rank / kEach);
}

}  // namespace shakedown::gpu_path_loss
