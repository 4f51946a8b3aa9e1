// Forces of the particles of one warp, over their lists; a part of kernels.cu.
//
// A warp has 32 / L particles in a group, each by L threads. Entry e of the list of the group's p-th particle is in row
// e / L, column p L + e % L of 32: what the warp reads at a time is contiguous.
#pragma once

#include "tasks.hpp"

namespace shakedown::gpu_lj {

namespace {

constexpr std::uint32_t kAhead = 4;  // places that a thread has under way before it uses the first

__device__ __forceinline__ float delta(std::int32_t a, std::int32_t b) {
  return static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b)));
}
__device__ __forceinline__ double delta(std::int64_t a, std::int64_t b) {
  return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)));
}

/// 1 / x to within two roundings (0: infinity or NaN).
__device__ __forceinline__ float reciprocal(float x) {
  const float y = reciprocal_estimate(x);
  return fma(y, fma(-x, y, 1.0f), y);
}
__device__ __forceinline__ double reciprocal(double x) {
  double y = reciprocal_estimate(x);
  y = fma(y, fma(-x, y, 1.0), y);
  return fma(y, fma(-x, y, 1.0), y);
}

/// Which particle of which group a thread of a warp works for.
template <int L>
struct Member {
  std::uint32_t i, sub;
  bool there;
};
template <int L>
__device__ __forceinline__ Member<L> member(std::uint32_t group, std::uint32_t n) {
  const std::uint32_t lane = threadIdx.x % kWarp, i = group * (kWarp / L) + lane / L;
  return {i < n ? i : n - 1, lane % L, i < n};
}
/// The first entry of a thread's column of its group's lists.
template <class T>
__device__ __forceinline__ std::uint32_t* column_of(const Task<T>& task, std::uint32_t group) {
  return task.list + static_cast<std::size_t>(group) * task.rows * kWarp + threadIdx.x % kWarp;
}

template <class T>
struct Force {
  T x = 0, y = 0, z = 0;
};

/// Call add(dx, dy, dz, 1 / r^2, within) for a thread's entries, differences in parts of the box. Where `within` is
/// false the rest means nothing.
template <class T, int L, class Add>
__device__ __forceinline__ void each_entry(const Task<T>& task, const Place<T>* places, std::uint32_t group,
                                           const Member<L>& me, Add&& add) {
  const Place<T> here = places[me.i];
  const std::uint32_t length = me.there ? task.lengths[me.i] : 0, mine = (length + L - 1 - me.sub) / L;
  const std::uint32_t* list = column_of(task, group);
  std::uint32_t next[kAhead];  // a particle's own place stands for no entry
  GPU_UNROLL(4)
  for (std::uint32_t u = 0; u < kAhead; ++u) next[u] = u < mine ? list[std::size_t{u} * kWarp] : me.i;
  for (std::uint32_t k = 0; k < mine; k += kAhead) {
    std::uint32_t j[kAhead];
    Place<T> there[kAhead];
    GPU_UNROLL(4)
    for (std::uint32_t u = 0; u < kAhead; ++u) j[u] = next[u];
    GPU_UNROLL(4)
    for (std::uint32_t u = 0; u < kAhead; ++u) there[u] = places[j[u]];
    GPU_UNROLL(4)
    for (std::uint32_t u = 0; u < kAhead; ++u) {
      const std::uint32_t after = k + kAhead + u;
      next[u] = after < mine ? list[std::size_t{after} * kWarp] : me.i;
    }
    GPU_UNROLL(4)
    for (std::uint32_t u = 0; u < kAhead; ++u) {
      const T dx = delta(here.x, there[u].x), dy = delta(here.y, there[u].y), dz = delta(here.z, there[u].z);
      const T r2 = fma(dz, dz, fma(dy, dy, dx * dx)) * task.unit2;
      add(dx, dy, dz, reciprocal(r2), r2, r2 < task.cutoff2 && j[u] != me.i);
    }
  }
}

/// f / r = 48 r^-2 r^-6 (r^-6 - 1/2) without the 48, from 1 / r^2.
template <class T>
__device__ __forceinline__ T strength(T s) {
  const T s3 = s * s * s;
  return s * s3 * (s3 - T(0.5));
}

/// What all threads of a particle found, summed for each of them.
template <int L, class T>
__device__ __forceinline__ T over_lanes(T value) {
  GPU_UNROLL(3)
  for (int away = L / 2; away > 0; away /= 2) value += __shfl_xor_sync(~0u, value, away);
  return value;
}

/// The force on a thread's particle, without the force factor.
template <class T, int L>
__device__ __forceinline__ Force<T> force(const Task<T>& task, const Place<T>* places, std::uint32_t group,
                                          const Member<L>& me) {
  Force<T> sum;
  each_entry<T, L>(task, places, group, me, [&](T dx, T dy, T dz, T s, T, bool within) {
    const T f = within ? strength(s) : T(0);
    sum.x = fma(f, dx, sum.x);
    sum.y = fma(f, dy, sum.y);
    sum.z = fma(f, dz, sum.z);
  });
  const T factor = T(48) * task.unit;
  return {factor * over_lanes<L>(sum.x), factor * over_lanes<L>(sum.y), factor * over_lanes<L>(sum.z)};
}
template <class T>
__device__ __forceinline__ double component(const Force<T>& force, std::uint32_t c) {
  return static_cast<double>(c == 0 ? force.x : c == 1 ? force.y : force.z);
}

__device__ __forceinline__ void put(Place<float>& to, std::uint32_t c, std::int64_t at) {
  (&to.x)[c] = static_cast<std::int32_t>(at >> 32);
}
__device__ __forceinline__ void put(Place<double>& to, std::uint32_t c, std::int64_t at) { (&to.x)[c] = at; }

/// Forces, kick and drift of a group; the new places go to the other array. The bits of the largest v^2 that a thread
/// saw, rounded up.
template <class T, int L>
__device__ __forceinline__ std::uint32_t move(const Task<T>& task, std::uint32_t side, std::uint32_t now,
                                              std::uint32_t group) {
  const Member<L> me = member<L>(group, task.n);
  const Force<T> f = force<T, L>(task, task.places + side * task.stride, group, me);
  Place<T>* to = task.places + (1 - side) * task.stride + me.i;
  double v2 = 0;
  for (std::uint32_t c = me.sub; c < 3 && me.there; c += L) {
    const std::size_t k = (3 * now + c) * task.stride + me.i;
    const double v = fma(task.kick, component(f, c), task.v[k]);
    // Added as numbers without a sign: they wrap round the box.
    const auto at = static_cast<std::int64_t>(static_cast<std::uint64_t>(task.at[k]) +
                                              static_cast<std::uint64_t>(static_cast<std::int64_t>(v * task.drift)));
    task.v[k] = v;
    task.at[k] = at;
    put(*to, c, at);
    v2 = fma(v, v, v2);
  }
  return __float_as_uint(over_lanes<L>(static_cast<float>(v2)) * 1.000001f);
}

}  // namespace

}  // namespace shakedown::gpu_lj
