// All pairs of bodies on a device, and leapfrog's other halves. README.md has the instructions of an interaction and
// what they bound. Compiled twice: by nvcc, and as C++ with gpu/emulate.hpp, which runs it on the host.
#include "gpu/kernel.hpp"
//
#include "arithmetic.hpp"
#include "shapes.hpp"

namespace shakedown::gpu_nbody {
namespace {

/// A thread holds kRows targets in registers; the block's sources pass through shared memory, from where every thread
/// reads the same at the same time. Blocks along x are targets, along y parts of the sources, `each` tiles of them.
/// Sums over a tile are in the precision, over tiles in double: sums[(kSums part + component) count + target], in an
/// order that depends on nothing but the parts. `count` is a multiple of kTile; bodies that fill it up have no mass.
template <class A, int kRows, int kTurns, bool kPotential>
__device__ __forceinline__ void all_pairs(const Body<typename A::T>* __restrict__ bodies, double* __restrict__ sums,
                                          unsigned count, unsigned each, typename A::T eps2) {
  using Wide = typename A::Wide;
  using T = typename A::T;
  constexpr int kSums = kPotential ? 1 : 3;
  constexpr unsigned kSteps = kTile / A::kSources;
  struct alignas(16) Source {
    Wide x, y, z, m;
  };
  __shared__ Source tile[kSteps];
  const unsigned first = blockIdx.x * blockDim.x * kRows + threadIdx.x;
  Wide x[kRows], y[kRows], z[kRows];
  double total[kRows][kSums] = {};
  GPU_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    const unsigned i = first + static_cast<unsigned>(r) * blockDim.x;
    const Body<T> body = bodies[i < count ? i : count - 1];
    x[r] = A::set(-body.x);
    y[r] = A::set(-body.y);
    z[r] = A::set(-body.z);
  }
  const Wide softening = A::set(eps2);
  const unsigned begin = blockIdx.y * each * kTile;
  const unsigned end = count - begin < each * kTile ? count : begin + each * kTile;
  for (unsigned at = begin; at < end; at += kTile) {
    __syncthreads();
    for (unsigned j = threadIdx.x; j < kSteps; j += blockDim.x) {
      if constexpr (A::kSources == 2) {
        const Body<T> one = bodies[at + 2 * j], other = bodies[at + 2 * j + 1];
        tile[j] = {{one.x, other.x}, {one.y, other.y}, {one.z, other.z}, {one.m, other.m}};
      } else {
        const Body<T> one = bodies[at + j];
        tile[j] = {one.x, one.y, one.z, one.m};
      }
    }
    __syncthreads();
    Wide sum[kRows][kSums];
    GPU_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      GPU_UNROLL(3)
      for (int c = 0; c < kSums; ++c) sum[r][c] = A::set(0);
    }
    GPU_UNROLL(kTurns)
    for (unsigned j = 0; j < kSteps; ++j) {
      const Source source = tile[j];
      GPU_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        const Wide dx = A::add(source.x, x[r]), dy = A::add(source.y, y[r]), dz = A::add(source.z, z[r]);
        const Wide s = A::fma(dz, dz, A::fma(dy, dy, A::fma(dx, dx, softening)));
        if constexpr (kPotential) {
          sum[r][0] = A::add(sum[r][0], A::inverse_root(s, source.m));
        } else {
          const Wide f = A::inverse_cube(s, source.m);
          sum[r][0] = A::fma(f, dx, sum[r][0]);
          sum[r][1] = A::fma(f, dy, sum[r][1]);
          sum[r][2] = A::fma(f, dz, sum[r][2]);
        }
      }
    }
    GPU_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      GPU_UNROLL(3)
      for (int c = 0; c < kSums; ++c) total[r][c] += A::total(sum[r][c]);
    }
  }
  GPU_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    const unsigned i = first + static_cast<unsigned>(r) * blockDim.x;
    if (i >= count) continue;
    for (int c = 0; c < kSums; ++c) {
      sums[static_cast<std::size_t>(kSums * blockIdx.y + static_cast<unsigned>(c)) * count + i] = total[r][c];
    }
  }
}

/// Before the first step: half a kick, and the drift, of the `n` bodies that are not there to fill up. `velocities` and
/// `field` have three rows of `count`.
template <class T>
__device__ __forceinline__ void set_off(Body<T>* bodies, T* velocities, const double* field, unsigned n, unsigned count,
                                        T half, T dt) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T place[3] = {bodies[i].x, bodies[i].y, bodies[i].z};
  for (unsigned c = 0; c < 3; ++c) {
    T& v = velocities[static_cast<std::size_t>(c) * count + i];
    v += static_cast<T>(field[static_cast<std::size_t>(c) * count + i]) * half;
    place[c] += v * dt;
  }
  bodies[i] = {place[0], place[1], place[2], bodies[i].m};
}

/// After all pairs: the parts' sums are added in order and become the field; then, as `after` says, half a kick, and of
/// the next step its half a kick and its drift.
template <class T>
__device__ __forceinline__ void finish(Body<T>* bodies, T* velocities, const double* sums, double* field, unsigned n,
                                       unsigned count, unsigned parts, double factor, T half, T dt, unsigned after) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T place[3] = {bodies[i].x, bodies[i].y, bodies[i].z};
  for (unsigned c = 0; c < 3; ++c) {
    double sum = 0;
    for (unsigned part = 0; part < parts; ++part) sum += sums[static_cast<std::size_t>(3 * part + c) * count + i];
    sum *= factor;
    field[static_cast<std::size_t>(c) * count + i] = sum;
    if (after == kFieldOnly) continue;
    const T push = static_cast<T>(sum) * half;
    T& v = velocities[static_cast<std::size_t>(c) * count + i];
    v += push;
    if (after == kKick) continue;
    v += push;
    place[c] += v * dt;
  }
  if (after == kKickAndGoOn) bodies[i] = {place[0], place[1], place[2], bodies[i].m};
}

}  // namespace

// The loops, by precision, targets of a thread (r), and steps that are written out (u); the program tries those of a
// precision and takes the fastest. `blocks` on a multiprocessor bound the registers.
#define SHAKEDOWN_PAIRS(name, A, rows, turns, potential, blocks)                               \
  extern "C" __global__ void __launch_bounds__(kThreads, blocks)                               \
      name(const Body<A::T>* bodies, double* sums, unsigned count, unsigned each, A::T eps2) { \
    all_pairs<A, rows, turns, potential>(bodies, sums, count, each, eps2);                     \
  }
SHAKEDOWN_PAIRS(forces_fp32_r2u8, Single, 2, 8, false, 3)
SHAKEDOWN_PAIRS(forces_fp32_r4u4, Single, 4, 4, false, 2)
SHAKEDOWN_PAIRS(forces_fp32_r4u8, Single, 4, 8, false, 2)
SHAKEDOWN_PAIRS(forces_fp32_r6u4, Single, 6, 4, false, 2)
SHAKEDOWN_PAIRS(forces_fp32_r8u2, Single, 8, 2, false, 1)
SHAKEDOWN_PAIRS(forces_fp64_r1u8, Double, 1, 8, false, 4)
SHAKEDOWN_PAIRS(forces_fp64_r2u4, Double, 2, 4, false, 3)
SHAKEDOWN_PAIRS(forces_fp64_r4u4, Double, 4, 4, false, 2)
SHAKEDOWN_PAIRS(potential_fp32, Single, 4, 4, true, 2)
SHAKEDOWN_PAIRS(potential_fp64, Double, 2, 4, true, 2)

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define SHAKEDOWN_STEPS(word, T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(kThreads)                                                              \
      set_off_##word(Body<T>* bodies, T* velocities, const double* field, unsigned n, unsigned count, T half, T dt) { \
    set_off<T>(bodies, velocities, field, n, count, half, dt);                                                        \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads)                                                              \
      finish_##word(Body<T>* bodies, T* velocities, const double* sums, double* field, unsigned n, unsigned count,    \
                    unsigned parts, double factor, T half, T dt, unsigned after) {                                    \
    finish<T>(bodies, velocities, sums, field, n, count, parts, factor, half, dt, after);                             \
  }

/// The parts' sums of potentials, added in order.
extern "C" __global__ void __launch_bounds__(kThreads)
    add_potentials(const double* sums, double* field, unsigned count, unsigned parts) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double sum = 0;
  for (unsigned part = 0; part < parts; ++part) sum += sums[static_cast<std::size_t>(part) * count + i];
  field[i] = sum;
}

SHAKEDOWN_STEPS(fp32, float)
SHAKEDOWN_STEPS(fp64, double)
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace shakedown::gpu_nbody
