// The kernels that factor 32 columns of a panel; a part of kernels.cu, which includes the words that they are written
// in.
#pragma once

#include "tasks.hpp"

namespace shakedown::hpl_gpu {

namespace {

/// A candidate for the pivot: of equal ones the upper row.
struct Found {
  double magnitude;
  Index row;
};
__device__ __forceinline__ bool beats(const Found& one, const Found& other) {
  return one.magnitude > other.magnitude || (one.magnitude == other.magnitude && one.row < other.row);
}

/// The best of so many lanes beside each other, a power of two, for each of them.
__device__ __forceinline__ Found best_of_lanes(Found mine, int lanes) {
  for (int away = lanes / 2; away > 0; away /= 2) {
    const Found other{__shfl_xor_sync(~0u, mine.magnitude, away), __shfl_xor_sync(~0u, mine.row, away)};
    if (beats(other, mine)) mine = other;
  }
  return mine;
}

/// The best of the block's candidates, for every thread. Between two calls the block must meet elsewhere.
__device__ __forceinline__ Found best_of_block(Found mine, Found* of_warps) {
  constexpr unsigned kMostWarps = kMostThreads / 32;
  mine = best_of_lanes(mine, 32);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  const unsigned warp = threadIdx.x % kMostWarps;
  return best_of_lanes(of_warps[warp < blockDim.x / 32 ? warp : 0], kMostWarps);
}

/// For a wait that may be long: what the block next to this one has in the first-level cache stays there.
__device__ __forceinline__ void await(const std::uint64_t* word, std::uint64_t value, bool system) {
  while (load_relaxed(word, system) != value) spin();
  load_acquire(word, system);
}

/// The winner of a column, and the block that has it.
struct Heard {
  Found best;
  unsigned block;
};

/// A warp hears what all blocks found. Each look is an acquire: that spares a way to the second-level cache and back
/// for every column, and what it costs the first-level cache, costs this block alone, which has nothing to do.
__device__ __forceinline__ void hear(const Slot* slots, unsigned blocks, std::uint64_t sequence, Heard& heard) {
  const unsigned lane = threadIdx.x;
  Found theirs{-1, Index{1} << 62};
  unsigned block = 0;
  for (unsigned b = lane; b < blocks; b += 32) {
    while (load_acquire(&slots[b].sequence, false) != sequence) spin();
    const Found found{load_fresh(&slots[b].magnitude), load_fresh(&slots[b].row)};
    if (!beats(found, theirs)) continue;
    theirs = found;
    block = b;
  }
  const Found best = best_of_lanes(theirs, 32);
  if (lane == 0) heard.best = best;
  if (best.magnitude >= 0 && theirs.row == best.row) heard.block = block;  // a row is of one block
}

/// Block 0 asks the host, which asks the other ranks of the process column, and tells the other blocks.
__device__ __forceinline__ void ask_host(const BaseTask& task, const Heard& heard, const Slot& current, Slot& result,
                                         std::uint64_t sequence, unsigned parity) {
  Courier& courier = *task.courier;
  const unsigned t = threadIdx.x;
  if (t < kBase) {
    if (heard.best.magnitude >= 0) {
      courier.candidate[t] = load_fresh(&task.slots[parity * gridDim.x + heard.block].content[t]);
    }
    if (task.top) courier.current[t] = load_fresh(&current.content[t]);
  }
  __syncthreads();
  if (t == 0) {
    courier.magnitude = heard.best.magnitude;
    courier.row = heard.best.row;
    store_release(&courier.asked, sequence, true);
    await(&courier.answered, sequence, true);
  }
  __syncthreads();
  if (t < kBase) {
    result.content[t] = *const_cast<const volatile double*>(&courier.chosen[t]);
    (&result)[2].content[t] = *const_cast<const volatile double*>(&courier.displaced[t]);
  }
  __syncthreads();
  if (t == 0) {
    result.row = *const_cast<const volatile Index*>(&courier.winner);
    store_release(&result.sequence, sequence, false);
  }
}

/// Factor a base panel with every row of it in one block's hands: in its shared memory (kResident) or where it lies.
/// Once for each column the blocks meet, in one exchange of slots: each writes its candidate with its row, and reads
/// all others'. Two sets of slots take turns: who writes column j + 2 has seen all of column j + 1, whose writers had
/// read all of column j.
template <bool kResident>
__device__ __forceinline__ void factor_base(const BaseTask& task) {
  GPU_DYNAMIC_SHARED(double, tile);
  __shared__ double u[kBase][kBase + 1];  // the chosen rows: U, and L left of its diagonal
  __shared__ double chosen[kBase], displaced[kBase];
  __shared__ Found of_warps[kMostThreads / 32];
  __shared__ Heard heard;
  const unsigned t = threadIdx.x;
  const unsigned blocks = gridDim.x;
  const int width = task.width;
  const Index first_active = task.top ? task.from : 0;
  const Index begin =
      first_active + blockIdx.x * task.each < task.rows ? first_active + blockIdx.x * task.each : task.rows;
  const Index end = begin + task.each < task.rows ? begin + task.each : task.rows;
  double* stripe = kResident ? tile : task.local + begin + task.from * task.ld;  // row `begin`, the first column
  const Index ld = kResident ? task.each : task.ld;
  if (kResident) {
    for (int c = 0; c < width; ++c) {
      for (Index r = begin + t; r < end; r += blockDim.x)
        stripe[r - begin + c * ld] = task.local[r + (task.from + c) * task.ld];
    }
    __syncthreads();
  }

  double scale = 1;
  for (int j = 0; j < width; ++j) {
    const std::uint64_t sequence = task.sequence + static_cast<std::uint64_t>(j);
    const auto parity = static_cast<unsigned>(sequence & 1);
    const Index here = task.from + j;  // the row that gives way, where it is on this rank
    const Index live = task.top && here > begin ? here : begin;
    // Bring column j up to date, scaling the one before on the way, and look for its largest entry.
    Found mine{-1, Index{1} << 62};
    for (Index r = live + t; r < end; r += blockDim.x) {
      double* row = stripe + (r - begin);
      double x = row[j * ld];
      if (j > 0) {
        const double l = row[(j - 1) * ld] * scale;
        row[(j - 1) * ld] = l;
        GPU_UNROLL(8)
        for (int k = 0; k < j - 1; ++k) x -= row[k * ld] * u[k][j];
        x -= l * u[j - 1][j];
        row[j * ld] = x;
      }
      const double magnitude = x < 0 ? -x : x;
      if (magnitude > mine.magnitude) {
        mine.magnitude = magnitude;
        mine.row = r;
      }
    }
    const Found own = best_of_block(mine, of_warps);  // also: every row of the stripe is written
    // Tell the other blocks.
    Slot& slot = task.slots[parity * blocks + blockIdx.x];
    Slot& current = task.current[parity];
    if (t < static_cast<unsigned>(width)) {
      if (own.magnitude >= 0) slot.content[t] = stripe[own.row - begin + t * ld];
      if (task.top && here >= begin && here < end) current.content[t] = stripe[here - begin + t * ld];
    }
    __syncthreads();
    if (t == 0) {
      slot.magnitude = own.magnitude;
      slot.row = own.row;
      store_release(&slot.sequence, sequence, false);
    }
    // Hear the other blocks.
    Index winner = -1;
    if (task.courier == nullptr || blockIdx.x == 0) {
      if (t < 32) hear(task.slots + std::size_t{parity} * blocks, blocks, sequence, heard);
      __syncthreads();
      if (task.courier == nullptr) {
        // Nothing but NaN: the row itself, and the check will fail.
        const bool none = heard.best.magnitude < 0;
        winner = none ? here : heard.best.row;
        const Slot& source = none ? current : task.slots[parity * blocks + heard.block];
        if (t < static_cast<unsigned>(width)) {
          chosen[t] = load_fresh(&source.content[t]);
          displaced[t] = load_fresh(&current.content[t]);
        }
        if (blockIdx.x == 0 && t == 0) task.picks[here] = winner;
      } else {
        ask_host(task, heard, current, task.result[parity], sequence, parity);
      }
    }
    if (task.courier != nullptr) {
      const Slot& result = task.result[parity];
      if (t == 0) await(&result.sequence, sequence, false);
      __syncthreads();
      winner = load_fresh(&result.row);
      if (t < static_cast<unsigned>(width)) {
        chosen[t] = load_fresh(&result.content[t]);
        displaced[t] = load_fresh(&(&result)[2].content[t]);
      }
    }
    __syncthreads();
    // The chosen row: L as it is, U after the rows above it. Every block does the same, bit by bit.
    if (t < static_cast<unsigned>(width)) {
      double value = chosen[t];
      if (static_cast<int>(t) > j) {
        for (int k = 0; k < j; ++k) value -= chosen[k] * u[k][t];
      }
      u[j][t] = value;
      if (blockIdx.x == 0) task.l1[here + (task.from + static_cast<Index>(t)) * task.order] = value;
      if (winner >= begin && winner < end && (!task.top || winner != here))
        stripe[winner - begin + t * ld] = displaced[t];
    }
    __syncthreads();
    scale = u[j][j] != 0 ? 1 / u[j][j] : 1;
  }

  const int last = width - 1;  // it has no successor that would scale it on the way
  for (Index r = (task.top && task.from + width > begin ? task.from + width : begin) + t; r < end; r += blockDim.x)
    stripe[r - begin + last * ld] *= scale;
  if (kResident) {
    __syncthreads();
    for (int c = 0; c < width; ++c) {
      for (Index r = begin + t; r < end; r += blockDim.x)
        task.local[r + (task.from + c) * task.ld] = stripe[r - begin + c * ld];
    }
  }
  if (blockIdx.x != 0) return;
  // The inverse, a column a warp and a row a lane.
  const int lane = static_cast<int>(t % 32);
  for (int c = static_cast<int>(t / 32); c < width; c += static_cast<int>(blockDim.x / 32)) {
    double value = lane == c ? 1 : 0;
    GPU_UNROLL(4)
    for (int k = c; k < width; ++k) {
      const double found = __shfl_sync(~0u, value, k);
      if (lane > k && lane < width) value -= u[lane][k] * found;
    }
    if (lane < width) task.inverse[task.from + lane + static_cast<Index>(task.from + c) * task.order] = value;
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMostThreads) hpl_base_shared(BaseTask task) { factor_base<true>(task); }
extern "C" __global__ void __launch_bounds__(kMostThreads) hpl_base_global(BaseTask task) { factor_base<false>(task); }

/// Exchange the rows that a base panel chose in the panel's other columns, one process row: to `l1` left of it, to
/// `raw` (rows of U that are not solved for yet) right of it. A warp takes a column; its lanes follow the interchanges
/// together.
extern "C" __global__ void __launch_bounds__(256) hpl_permute(BaseTask task, double* raw) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const Index first = task.from;
  const Index pick = lane < task.width ? task.picks[first + lane] : -1;
  Index source = first + lane;   // the row that comes to first + lane
  Index below = -1, comes = -1;  // a row below the base panel's that gets another, and which
  for (int i = 0; i < task.width; ++i) {
    const Index pivot = __shfl_sync(~0u, pick, i);
    const Index here = __shfl_sync(~0u, source, i);
    Index other = pivot;
    if (pivot < first + task.width) {
      const int there = static_cast<int>(pivot - first);
      other = __shfl_sync(~0u, source, there);
      if (lane == there) source = here;
    } else {
      const unsigned met = __ballot_sync(~0u, below == pivot);
      const int holder = met != 0 ? __ffs(met) - 1 : i;
      if (met != 0) other = __shfl_sync(~0u, comes, holder);
      if (lane == holder) {
        below = pivot;
        comes = here;
      }
    }
    if (lane == i) source = other;
  }
  const int warps = static_cast<int>(gridDim.x * blockDim.x / 32);
  const int warp = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  for (int number = warp; number < task.order - task.width; number += warps) {
    const int c = number < task.from ? number : number + task.width;
    double* column = task.local + c * task.ld;
    const double up = lane < task.width ? column[source] : 0;
    // No lane waits for another: a row that is written is read by its own lane alone (what was there first goes up, and
    // who sent it up holds it), and rows of the base panel are not written here.
    const double down = below >= 0 ? column[comes] : 0;
    if (lane < task.width) (c < task.from ? task.l1 : raw)[first + lane + static_cast<Index>(c) * task.order] = up;
    if (below >= 0) column[below] = down;
  }
}

/// The same with several process rows, from rows that were gathered: row g of them is row order[g] of the base panel.
extern "C" __global__ void __launch_bounds__(256)
    hpl_place(BaseTask task, double* raw, const double* w, Index ldw, Rows order) {
  const int columns = task.order - task.width;
  for (int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); at < columns * order.count;
       at += static_cast<int>(gridDim.x * blockDim.x)) {
    const int j = at % columns, g = at / columns;
    const int c = j < task.from ? j : j + task.width;
    (c < task.from ? task.l1 : raw)[task.from + order.at[g] + static_cast<Index>(c) * task.order] = w[j + g * ldw];
  }
}

}  // namespace shakedown::hpl_gpu
