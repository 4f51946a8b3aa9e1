// The losses of many links on a device, compiled twice: by nvcc, and as C++ with gpu/emulate.hpp, which runs it on the
// host. README.md tells what it costs.
#include "gpu/kernel.hpp"
//
#include "profile.cuh"

namespace shakedown::gpu_path_loss {
namespace {

/// The ranks of the two radios of a link; the same rank twice: no link.
struct Pair {
  std::uint32_t a, b;
};

/// Where a radio's links to those behind it begin, in rows one behind the other: row_begin of path_loss/course.hpp,
/// which kernels cannot include.
__device__ __forceinline__ std::uint64_t row_of(std::uint64_t from, std::uint64_t count) {
  return from * (2 * count - from - 1) / 2;
}

/// Of all links, rank by rank: (0, 1), (0, 2) ... (1, 2) ...
__device__ __forceinline__ Pair pair_of_all(std::uint64_t link, std::uint32_t radios) {
  const double twice = 2.0 * radios - 1;
  const double row = (twice - sqrt(twice * twice - 8.0 * static_cast<double>(link))) / 2;
  auto a = static_cast<std::uint64_t>(row < 0 ? 0 : row);
  while (row_of(a + 1, radios) <= link) ++a;  // the root is rounded
  while (row_of(a, radios) > link) --a;
  return {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(link - row_of(a, radios) + a + 1)};
}

/// Of those that moved: each of them with all others.
template <class H>
__device__ __forceinline__ Pair pair_of_moved(const Task<H>& task, std::uint64_t link) {
  const std::uint32_t a = task.moved[link / task.radios], b = static_cast<std::uint32_t>(link % task.radios);
  return task.is_moved[b] != 0 && b < a ? Pair{a, a} : Pair{a, b};
}

/// A warp takes 32 links. Each in turn is all its threads': reading the profile, and what needs all points of it. Then
/// each thread has a link of its own, for the 5,000 operations that need none.
template <class R, class H>
__device__ __forceinline__ void all_losses(const Task<H>& task) {
  GPU_DYNAMIC_SHARED(double, room);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  R* const heights = reinterpret_cast<R*>(room) + static_cast<std::size_t>(warp) * task.points;
  for (std::uint64_t first = (static_cast<std::uint64_t>(blockIdx.x) * warps + warp) * kWarp; first < task.links;
       first += static_cast<std::uint64_t>(gridDim.x) * warps * kWarp) {
    Pair mine{0, 0};
    if (first + lane < task.links) {
      mine = task.moved == nullptr ? pair_of_all(first + lane, task.radios) : pair_of_moved(task, first + lane);
    }
    // From the lower number to the higher: to the model the two ways of a link are not quite the same.
    std::uint32_t from = task.numbers[mine.a], to = task.numbers[mine.b];
    if (to < from) {
      const std::uint32_t other = from, rank = mine.a;
      from = to;
      to = other;
      mine = {mine.b, rank};
    }
    Found<R> found{};
    for (unsigned k = 0; k < kWarp; ++k) {
      const std::uint32_t a = __shfl_sync(~0u, mine.a, k), b = __shfl_sync(~0u, mine.b, k);
      if (a == b) continue;
      const Found<R> of_link = examine(task, task.places[a], task.places[b], heights);
      if (lane == k) found = of_link;
      __syncwarp();  // the room is free again
    }
    if (mine.a != mine.b) task.loss_db[row_of(from, task.radios) + to - from - 1] = loss_db(found, task.prepared);
  }
}

}  // namespace

#define GPU_PATH_LOSS_KERNEL(name, real, height, blocks)                                       \
  extern "C" __global__ void __launch_bounds__(256, blocks) losses_##name(Task<height> task) { \
    all_losses<real, height>(task);                                                            \
  }
GPU_PATH_LOSS_KERNEL(fp32_int16, float, std::int16_t, 2)
GPU_PATH_LOSS_KERNEL(fp32_float32, float, float, 2)
GPU_PATH_LOSS_KERNEL(fp64_int16, double, std::int16_t, 1)
GPU_PATH_LOSS_KERNEL(fp64_float32, double, float, 1)

}  // namespace shakedown::gpu_path_loss
