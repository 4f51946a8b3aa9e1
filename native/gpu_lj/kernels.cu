// The kernels of a Lennard-Jones fluid on a device, compiled twice: by nvcc, and as C++ with gpu/emulate.hpp, which
// runs them on the host. README.md tells what each costs.
#include "gpu/kernel.hpp"
//
#include "lists.cuh"

namespace shakedown::gpu_lj {

namespace {

/// One step of everything; every block calls it. The bits of the largest v^2 of all particles.
template <class T, int L>
__device__ __forceinline__ std::uint32_t step(const Task<T>& task, std::uint32_t side, std::uint32_t now,
                                              std::uint32_t turn, const Part& groups, Meeting& meeting) {
  __shared__ std::uint32_t of_warps[32];
  std::uint32_t fastest = 0;
  for (std::uint32_t g = groups.first + threadIdx.x / kWarp; g < groups.last; g += blockDim.x / kWarp) {
    const std::uint32_t mine = move<T, L>(task, side, now, g);
    fastest = mine > fastest ? mine : fastest;
  }
  fastest = warp_max(fastest);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = fastest;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (std::uint32_t w = 1; w < blockDim.x / kWarp; ++w) fastest = of_warps[w] > fastest ? of_warps[w] : fastest;
    atomicMax(task.control->fastest + turn, fastest);
    // The next step's: it was last read before the meeting that ended the last step.
    if (blockIdx.x == 0) task.control->fastest[(turn + 1) % 3] = 0;
  }
  meeting.meet();
  return load_fresh(task.control->fastest + turn);
}

/// Steps up to number `until`, lists made anew wherever they may have become stale. Nothing is left to the host: each
/// thread adds up how far a particle can have moved, from the same numbers. `refresh`: fresh lists at the end too.
template <class T, int L>
__device__ __forceinline__ void run(const Task<T>& task, std::int64_t until, std::uint32_t refresh) {
  Progress here = *task.progress;
  if (here.overflow != 0) return;
  Meeting meeting{&task.control->arrived};
  Part groups = share(task);
  bool changed = false;
  for (std::uint32_t turn = 0;; turn = (turn + 1) % 3) {
    const bool stale = !(2 * here.moved <= task.skin);
    if (stale && (refresh != 0 || here.steps < until)) {
      rebuild<T, L>(task, here.side, here.now, groups, meeting);
      groups = share(task);
      changed = true;
      here.now = 1 - here.now;
      const std::uint32_t longest = load_fresh(&task.control->longest);
      here.longest = longest > here.longest ? longest : here.longest;
      if (longest > task.rows * L) {
        here.overflow = 1;
        here.moved = 1e300;
        break;
      }
      here.moved = 0;
      ++here.rebuilds;
    }
    if (here.steps >= until) break;
    const std::uint32_t fastest = step<T, L>(task, here.side, here.now, turn, groups, meeting);
    changed = true;
    here.side = 1 - here.side;
    ++here.steps;
    here.moved += sqrt(static_cast<double>(__uint_as_float(fastest))) * task.dt;
  }
  if (changed && blockIdx.x == 0 && threadIdx.x == 0) *task.progress = here;
}

/// Sums over all particles as they are, and where asked for their velocities and forces.
template <class T, int L>
__device__ __forceinline__ void observe(const Task<T>& task, const Reading& reading) {
  __shared__ double of_warps[32][kSums];
  double sums[kSums] = {};
  const Part groups = part_of((task.n + kWarp / L - 1) / (kWarp / L));
  for (std::uint32_t g = groups.first + threadIdx.x / kWarp; g < groups.last; g += blockDim.x / kWarp) {
    const Member<L> me = member<L>(g, task.n);
    const Place<T>* places = task.places + reading.side * task.stride;
    const Force<T> f = force<T, L>(task, places, g, me);
    each_entry<T, L>(task, places, g, me, [&](T, T, T, T s, T r2, bool within) {
      if (!within) return;
      const T s3 = s * s * s;
      sums[0] += static_cast<double>(T(4) * s3 * (s3 - T(1)));
      sums[1] += static_cast<double>(T(48) * strength(s) * r2);
      sums[2] += 1;
    });
    for (std::uint32_t c = me.sub; c < 3 && me.there; c += L) {
      const std::size_t k = (3 * reading.now + c) * task.stride + me.i;
      const double along_c = component(f, c), v = fma(reading.half, along_c, task.v[k]);
      if (reading.kick != 0) task.v[k] = fma(reading.kick, along_c, task.v[k]);
      sums[3] += v * v / 2;
      sums[4] += c == 0 ? v : 0;
      sums[5] += c == 1 ? v : 0;
      sums[6] += c == 2 ? v : 0;
      if (reading.store == 0) continue;
      const std::size_t idle = (3 * (1 - reading.now) + c) * task.stride + me.i;
      reinterpret_cast<double*>(task.at)[idle] = reading.factor * along_c;
      task.v[idle] = v;
    }
  }
  GPU_UNROLL(7)
  for (int s = 0; s < kSums; ++s) {
    for (int away = kWarp / 2; away > 0; away /= 2) sums[s] += __shfl_xor_sync(~0u, sums[s], away);
    if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp][s] = sums[s];
  }
  __syncthreads();
  if (threadIdx.x >= kSums) return;
  double sum = 0;
  for (std::uint32_t w = 0; w < blockDim.x / kWarp; ++w) sum += of_warps[w][threadIdx.x];
  reading.sums[blockIdx.x * kSums + threadIdx.x] = sum;
}

}  // namespace

#define GPU_LJ_KERNELS(name, type, lanes, blocks)                                                                   \
  extern "C" __global__ void __launch_bounds__(512, blocks)                                                         \
      lj_steps_##name##_##lanes(Task<type> task, std::int64_t until, std::uint32_t refresh) {                       \
    run<type, lanes>(task, until, refresh);                                                                         \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(512) lj_observe_##name##_##lanes(Task<type> task, Reading reading) { \
    observe<type, lanes>(task, reading);                                                                            \
  }
GPU_LJ_KERNELS(mixed, float, 1, 2)
GPU_LJ_KERNELS(mixed, float, 2, 2)
GPU_LJ_KERNELS(mixed, float, 4, 2)
GPU_LJ_KERNELS(mixed, float, 8, 2)
GPU_LJ_KERNELS(fp64, double, 1, 1)
GPU_LJ_KERNELS(fp64, double, 2, 1)
GPU_LJ_KERNELS(fp64, double, 4, 1)
GPU_LJ_KERNELS(fp64, double, 8, 1)

extern "C" __global__ void __launch_bounds__(256) lj_scale(double* v, std::size_t count, double factor) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) v[i] *= factor;
}

}  // namespace shakedown::gpu_lj
