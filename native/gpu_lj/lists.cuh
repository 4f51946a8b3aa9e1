// Particles sorted by cells, and lists of neighbours, by all blocks of a launch; a part of kernels.cu.
//
// Cells have edges of at least half the lists' reach, so that neighbours are in 125 of them. Cells that follow one
// another along x are one row, and so are their particles in memory: 25 rows, each one run of particles, or two where
// it meets a wall of the box. Rows follow Morton's curve over y and z (native/lj/cells.hpp). Within a cell particles
// come in the order of their numbers: what is computed does not depend on which thread came first.
#pragma once

#include "forces.cuh"

namespace shakedown::gpu_lj {

namespace {

constexpr std::uint32_t kFixedCost = 8;  // of a group besides its rows: in rows, by the instructions of both
constexpr int kReach = 2;                // cells from a particle's own to the last that may hold a neighbour

/// All blocks of a launch meet: what one wrote before is there for all after it.
struct Meeting {
  std::uint64_t* arrived;
  std::uint64_t wanted = 0;

  __device__ __forceinline__ void meet() {
    __syncthreads();
    if (threadIdx.x == 0) arrive_and_wait();
    wanted += gridDim.x;
    __syncthreads();
  }
  /// The part of one thread, between two barriers of its block.
  __device__ __forceinline__ void arrive_and_wait() const {
    add_release(arrived, 1);
    while (load_relaxed(arrived, false) < wanted + gridDim.x) spin();
    load_acquire(arrived, false);
  }
};

/// This block's part of `count` things.
struct Part {
  std::uint32_t first, last;
};
__device__ __forceinline__ Part part_of(std::uint32_t count) {
  const std::uint64_t block = blockIdx.x, all = count;
  return {static_cast<std::uint32_t>(all * block / gridDim.x),
          static_cast<std::uint32_t>(all * (block + 1) / gridDim.x)};
}

/// The sum of what the threads of this block before this one have, and of what all have. Barriers within.
struct Prefix {
  std::uint32_t before, all;
};
__device__ __forceinline__ Prefix prefix_of(std::uint32_t value, std::uint32_t* of_warps) {
  const std::uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  std::uint32_t sum = value;
  for (unsigned away = 1; away < kWarp; away *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0u, sum, away);
    if (lane >= away) sum += other;
  }
  __syncthreads();  // of_warps may still be read from before
  if (lane == kWarp - 1) of_warps[warp] = sum;
  __syncthreads();
  Prefix found{sum - value, 0};
  for (std::uint32_t w = 0; w < blockDim.x / kWarp; ++w) {
    if (w < warp) found.before += of_warps[w];
    found.all += of_warps[w];
  }
  return found;
}

/// The cell along an edge of a place, given as the upper 32 bits of its fraction of the box.
__device__ __forceinline__ std::uint32_t along(std::uint32_t at, std::uint32_t edge) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(at) * edge) >> 32);
}
__device__ __forceinline__ std::uint32_t upper(std::int32_t at) { return static_cast<std::uint32_t>(at); }
__device__ __forceinline__ std::uint32_t upper(std::int64_t at) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(at) >> 32);
}

template <class T>
__device__ __forceinline__ void count_particles(const Task<T>& task, std::uint32_t now) {
  const Part mine = part_of(task.n);
  const std::int64_t* at = task.at + 3 * now * task.stride;
  for (std::uint32_t i = mine.first + threadIdx.x; i < mine.last; i += blockDim.x) {
    const std::uint32_t x = along(upper(at[i]), task.edge), y = along(upper(at[i + task.stride]), task.edge),
                        z = along(upper(at[i + 2 * task.stride]), task.edge);
    const std::uint32_t cell = task.rank[z * task.edge + y] * task.edge + x;
    task.cell_of[i] = cell;
    atomicAdd(task.counts + cell, 1u);
  }
}

/// each(c, the sum of the values before c, the sum of all) for this block's part of the values. Blocks meet within.
template <class Each>
__device__ __forceinline__ void scan(const std::uint32_t* values, std::uint32_t count, std::uint32_t* totals,
                                     Meeting& meeting, Each&& each) {
  __shared__ std::uint32_t of_warps[32];
  const Part mine = part_of(count);
  const std::uint32_t own = (mine.last - mine.first + blockDim.x - 1) / blockDim.x;
  const std::uint32_t first = mine.first + threadIdx.x * own;
  const std::uint32_t last = first + own < mine.last ? first + own : mine.last;
  std::uint32_t sum = 0;
  for (std::uint32_t c = first; c < last; ++c) sum += load_fresh(values + c);
  const Prefix inside = prefix_of(sum, of_warps);
  if (threadIdx.x == 0) totals[blockIdx.x] = inside.all;
  meeting.meet();
  std::uint32_t before = 0, all = 0;
  for (std::uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
    const std::uint32_t total = load_fresh(totals + b);
    all += total;
    if (b < blockIdx.x) before += total;
  }
  std::uint32_t begin = prefix_of(before, of_warps).all + inside.before;
  all = prefix_of(all, of_warps).all;
  for (std::uint32_t c = first; c < last; ++c) {
    each(c, begin, all);
    begin += load_fresh(values + c);
  }
}

/// Where each cell begins, from the counts.
template <class T>
__device__ __forceinline__ void begin_cells(const Task<T>& task, Meeting& meeting) {
  scan(task.counts, task.cells, task.totals, meeting,
       [&](std::uint32_t cell, std::uint32_t begin, std::uint32_t) { task.begins[cell] = begin; });
  if (blockIdx.x == 0 && threadIdx.x == 0) task.begins[task.cells] = task.n;
}

/// Each particle into the run of its cell, in whatever order; the counts are zero afterwards.
template <class T>
__device__ __forceinline__ void scatter(const Task<T>& task) {
  const Part mine = part_of(task.n);
  for (std::uint32_t i = mine.first + threadIdx.x; i < mine.last; i += blockDim.x) {
    const std::uint32_t cell = task.cell_of[i];
    task.order[task.begins[cell] + atomicAdd(task.counts + cell, ~0u) - 1] = i;
  }
}

/// The columns into the other set, within each cell by the particles' numbers; and the places.
template <class T>
__device__ __forceinline__ void carry_over(const Task<T>& task, std::uint32_t side, std::uint32_t now) {
  const Part mine = part_of(task.n);
  const std::uint32_t* id = task.id + now * task.stride;
  for (std::uint32_t k = mine.first + threadIdx.x; k < mine.last; k += blockDim.x) {
    const std::uint32_t i = task.order[k], cell = task.cell_of[i], number = id[i];
    std::uint32_t to = task.begins[cell];
    for (std::uint32_t m = task.begins[cell], end = task.begins[cell + 1]; m < end; ++m)
      to += id[task.order[m]] < number;
    Place<T> place{};
    for (std::uint32_t c = 0; c < 3; ++c) {
      const std::size_t from = (3 * now + c) * task.stride + i, into = (3 * (1 - now) + c) * task.stride + to;
      const std::int64_t at = task.at[from];
      task.at[into] = at;
      task.v[into] = task.v[from];
      put(place, c, at);
    }
    task.id[(1 - now) * task.stride + to] = number;
    task.places[side * task.stride + to] = place;
  }
}

/// The runs of particles in one row of cells around a particle: the first n0 from first0 on, the others from first1 on.
struct Runs {
  std::uint32_t first0, n0, first1, all;
};
template <class T>
__device__ __forceinline__ Runs runs_of(const Task<T>& task, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const std::uint32_t edge = task.edge;
  const std::uint32_t* row = task.begins + static_cast<std::size_t>(task.rank[z * edge + y]) * edge;
  Runs runs{};
  if (x < kReach) {
    runs.first0 = row[0];
    runs.n0 = row[x + kReach + 1] - runs.first0;
    runs.first1 = row[edge + x - kReach];
    runs.all = runs.n0 + row[edge] - runs.first1;
  } else {
    const std::uint32_t end = x + kReach + 1;
    runs.first0 = row[x - kReach];
    runs.n0 = row[end < edge ? end : edge] - runs.first0;
    runs.first1 = row[0];
    runs.all = runs.n0 + (end > edge ? row[end - edge] - runs.first1 : 0);
  }
  return runs;
}
__device__ __forceinline__ std::uint32_t wrapped(std::uint32_t at, int by, std::uint32_t edge) {
  const int moved = static_cast<int>(at) + by;
  return static_cast<std::uint32_t>(moved < 0                         ? moved + static_cast<int>(edge)
                                    : moved >= static_cast<int>(edge) ? moved - static_cast<int>(edge)
                                                                      : moved);
}

/// The list of a thread's particle, together with the others that share it; its length, which may be more than there
/// was room for.
template <class T, int L>
__device__ __forceinline__ std::uint32_t list_particle(const Task<T>& task, const Place<T>* places, std::uint32_t group,
                                                       const Member<L>& me) {
  const Place<T> here = places[me.i];
  const std::uint32_t x = along(upper(here.x), task.edge), y = along(upper(here.y), task.edge),
                      z = along(upper(here.z), task.edge);
  std::uint32_t* list = column_of(task, group) - me.sub;
  const std::uint32_t shift = threadIdx.x % kWarp - me.sub, room = task.rows * L;
  std::uint32_t length = 0;
  for (int row = 0; row < (2 * kReach + 1) * (2 * kReach + 1); ++row) {
    const int dy = row % (2 * kReach + 1) - kReach, dz = row / (2 * kReach + 1) - kReach;
    const Runs runs = runs_of(task, x, wrapped(y, dy, task.edge), wrapped(z, dz, task.edge));
    const std::uint32_t all = me.there ? runs.all : 0;
    const std::uint32_t most = L == 1 ? all : warp_max(all);  // turns of the whole warp
    for (std::uint32_t k = me.sub; k - me.sub < most; k += L) {
      const std::uint32_t j = k >= all ? me.i : k < runs.n0 ? runs.first0 + k : runs.first1 + (k - runs.n0);
      const Place<T> there = places[j];
      const T dx = delta(here.x, there.x), dy2 = delta(here.y, there.y), dz2 = delta(here.z, there.z);
      const bool near = j != me.i && fma(dz2, dz2, fma(dy2, dy2, dx * dx)) * task.unit2 < task.range2;
      std::uint32_t entry = length;
      if (L == 1) {
        length += near ? 1 : 0;
      } else {
        const std::uint32_t votes = (__ballot_sync(~0u, near) >> shift) & ((1u << L) - 1);
        entry += static_cast<std::uint32_t>(__popc(votes & ((1u << me.sub) - 1)));
        length += static_cast<std::uint32_t>(__popc(votes));
      }
      if (near && entry < room) list[static_cast<std::size_t>(entry / L) * kWarp + entry % L] = j;
    }
  }
  return length;
}

/// The groups of this block, as they were shared out last: the fluid is not equally dense everywhere.
template <class T>
__device__ __forceinline__ Part share(const Task<T>& task) {
  return {load_fresh(task.shares + blockIdx.x), load_fresh(task.shares + blockIdx.x + 1)};
}

template <class T, int L>
__device__ __forceinline__ void list_all(const Task<T>& task, std::uint32_t side, const Part& groups) {
  const std::uint32_t room = task.rows * L;
  std::uint32_t longest = 0;
  for (std::uint32_t g = groups.first + threadIdx.x / kWarp; g < groups.last; g += blockDim.x / kWarp) {
    const Member<L> me = member<L>(g, task.n);
    const std::uint32_t length = list_particle<T, L>(task, task.places + side * task.stride, g, me);
    if (me.there && me.sub == 0) task.lengths[me.i] = length < room ? length : room;
    const std::uint32_t most = warp_max(length);
    if (threadIdx.x % kWarp == 0) task.costs[g] = (most + L - 1) / L + kFixedCost;
    longest = most > longest ? most : longest;
  }
  if (threadIdx.x % kWarp == 0) atomicMax(&task.control->longest, longest);
}

/// Groups to blocks so that each has about as many rows of lists: block b begins at b / blocks of all costs.
template <class T, int L>
__device__ __forceinline__ void share_out(const Task<T>& task, Meeting& meeting) {
  const std::uint64_t blocks = gridDim.x;
  scan(task.costs, (task.n + kWarp / L - 1) / (kWarp / L), task.totals, meeting,
       [&](std::uint32_t g, std::uint32_t begin, std::uint32_t all) {
         const std::uint64_t end = begin + task.costs[g];
         for (std::uint64_t b = begin * blocks / all + 1; b <= end * blocks / all; ++b) task.shares[b] = g + 1;
       });
}

/// Sort and list everything anew; every block of the launch calls it. Afterwards the other columns hold.
template <class T, int L>
__device__ __forceinline__ void rebuild(const Task<T>& task, std::uint32_t side, std::uint32_t now, const Part& groups,
                                        Meeting& meeting) {
  count_particles(task, now);
  meeting.meet();
  begin_cells(task, meeting);
  meeting.meet();
  scatter(task);
  meeting.meet();
  carry_over(task, side, now);
  meeting.meet();
  list_all<T, L>(task, side, groups);
  meeting.meet();
  share_out<T, L>(task, meeting);
  meeting.meet();
}

}  // namespace

}  // namespace shakedown::gpu_lj
