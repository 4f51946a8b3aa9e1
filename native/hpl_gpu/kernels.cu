// The kernels of HPL on a device. README.md tells what each costs. They are compiled twice: by nvcc, and as C++ with
// emulate.hpp, which runs them on the host.
#ifdef __CUDACC__
#include "cuda_words.hpp"
#else
#include "emulate.hpp"
#endif
#include "tasks.hpp"

namespace shakedown::hpl_gpu {

using hpl::Steps;

// ------------------------------------------------------------------------------------------------------------- matrix

namespace {

/// The state that gives entry (i, j) of [A b]: elements are numbered down the columns.
__device__ __forceinline__ std::uint64_t state_of(const Steps& step, Index n, Index i, Index j) {
  return step.times(static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n) +
                    static_cast<std::uint64_t>(i))(hpl::kSeed);
}

}  // namespace

/// A block goes down part of a column: each thread takes every blockDim-th row. `stride`: as many steps as a block has
/// threads.
extern "C" __global__ void __launch_bounds__(256)
    hpl_generate(Part part, Steps step, Steps stride, double* a, Index lda, Index each) {
  const Index begin = blockIdx.x * each;
  const Index end = begin + each < part.height ? begin + each : part.height;
  for (Index j = blockIdx.y; j < part.width; j += gridDim.y) {
    const Index column = part.columns.global(j, part.column);
    Index i = begin + threadIdx.x;
    if (i >= end) continue;
    std::uint64_t state = state_of(step, part.n, part.rows.global(i, part.row), column);
    for (; i < end; i += blockDim.x) {
      a[i + j * lda] = hpl::entry_of(state);
      state = part.rows.parts == 1 ? stride(state)
                                   : state_of(step, part.n, part.rows.global(i + blockDim.x, part.row), column);
    }
  }
}

/// Of each local row, over the columns of A (not b) in some of the local blocks: the sum of a x and of |a|.
/// sums[2 (chunk height + row)] and the next; chunk is blockIdx.y. `across`: the steps from a column to the next.
extern "C" __global__ void __launch_bounds__(256)
    hpl_row_sums(Part part, Steps step, Steps across, const double* x, double* sums, Index blocks_each) {
  const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= part.height) return;
  const Index nb = part.columns.block;
  const Index row = part.rows.global(i, part.row);
  double sum = 0, absolute = 0;
  for (Index block = blockIdx.y * blocks_each; block < (blockIdx.y + 1) * blocks_each; ++block) {
    const Index first = block * nb;
    if (first >= part.width) break;
    const Index column = part.columns.global(first, part.column);
    if (column >= part.n) break;
    Index count = part.n - column < nb ? part.n - column : nb;
    std::uint64_t state = state_of(step, part.n, row, column);
    for (Index l = 0; l < count; ++l) {
      const double value = hpl::entry_of(state);
      sum += value * x[first + l];
      absolute += value < 0 ? -value : value;
      state = across(state);
    }
  }
  double* out = sums + 2 * (blockIdx.y * part.height + i);
  out[0] = sum;
  out[1] = absolute;
}

/// Of each local column of A, over this rank's rows: the sum of |a|.
extern "C" __global__ void __launch_bounds__(256) hpl_column_sums(Part part, Steps step, double* sums) {
  const Index j = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (j >= part.width) return;
  const Index column = part.columns.global(j, part.column);
  double sum = 0;
  std::uint64_t state = 0;
  for (Index i = 0; i < part.height && column < part.n; ++i) {
    state = i % part.rows.block == 0 ? state_of(step, part.n, part.rows.global(i, part.row), column) : step(state);
    const double value = hpl::entry_of(state);
    sum += value < 0 ? -value : value;
  }
  sums[j] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    hpl_copy(const double* from, Index ldf, double* to, Index ldt, Index rows, int columns) {
  for (int j = static_cast<int>(blockIdx.y); j < columns; j += static_cast<int>(gridDim.y)) {
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows; i += step)
      to[i + j * ldt] = from[i + j * ldf];
  }
}

// --------------------------------------------------------------------------------------------------------- base panel

namespace {

/// A candidate for the pivot: of equal ones the upper row.
struct Found {
  double magnitude;
  Index row;
  unsigned block;
};
__device__ __forceinline__ bool beats(const Found& one, const Found& other) {
  return one.magnitude > other.magnitude || (one.magnitude == other.magnitude && one.row < other.row);
}

/// The best of the block's candidates, for every thread.
__device__ __forceinline__ Found best_of_block(Found mine, Found* of_warps) {
  for (int lane = 16; lane > 0; lane /= 2) {
    const Found other{__shfl_xor_sync(~0u, mine.magnitude, lane), __shfl_xor_sync(~0u, mine.row, lane),
                      __shfl_xor_sync(~0u, mine.block, lane)};
    if (beats(other, mine)) mine = other;
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  Found best = of_warps[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) {
    if (beats(of_warps[w], best)) best = of_warps[w];
  }
  __syncthreads();  // before the next call writes
  return best;
}

__device__ __forceinline__ void await(const std::uint64_t* word, std::uint64_t value, bool system) {
  while (load_acquire(word, system) != value) spin();
}

/// Block 0 asks the host, which asks the other ranks of the process column, and tells the other blocks.
__device__ __forceinline__ void ask_host(const BaseTask& task, const Found& best, const Slot& current, Slot& result,
                                         std::uint64_t sequence, unsigned parity) {
  Courier& courier = *task.courier;
  const unsigned t = threadIdx.x;
  if (t < kBase) {
    if (best.magnitude >= 0) {
      courier.candidate[t] = load_fresh(&task.slots[parity * gridDim.x + best.block].content[t]);
    }
    if (task.top) courier.current[t] = load_fresh(&current.content[t]);
  }
  __syncthreads();
  if (t == 0) {
    courier.magnitude = best.magnitude;
    courier.row = best.row;
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
  HPL_DYNAMIC_SHARED(tile);
  __shared__ double u[kBase][kBase + 1];  // the chosen rows: U, and L left of its diagonal
  __shared__ double inverse[kBase][kBase + 1];
  __shared__ double chosen[kBase], displaced[kBase];
  __shared__ Found of_warps[kMostThreads / 32];
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
    Found mine{-1, hpl::Index{1} << 62, blockIdx.x};
    for (Index r = live + t; r < end; r += blockDim.x) {
      double* row = stripe + (r - begin);
      double x = row[j * ld];
      if (j > 0) {
        const double l = row[(j - 1) * ld] * scale;
        row[(j - 1) * ld] = l;
        HPL_UNROLL
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
      Found theirs{-1, hpl::Index{1} << 62, 0};
      for (unsigned b = t; b < blocks; b += blockDim.x) {
        const Slot& other = task.slots[parity * blocks + b];
        await(&other.sequence, sequence, false);
        const Found found{load_fresh(&other.magnitude), load_fresh(&other.row), b};
        if (beats(found, theirs)) theirs = found;
      }
      const Found best = best_of_block(theirs, of_warps);
      if (task.courier == nullptr) {
        // Nothing but NaN: the row itself, and the check will fail.
        const bool none = best.magnitude < 0;
        winner = none ? here : best.row;
        const Slot& source = none ? current : task.slots[parity * blocks + best.block];
        if (t < static_cast<unsigned>(width)) {
          chosen[t] = load_fresh(&source.content[t]);
          displaced[t] = load_fresh(&current.content[t]);
        }
        if (blockIdx.x == 0 && t == 0) task.picks[here] = winner;
      } else {
        ask_host(task, best, current, task.result[parity], sequence, parity);
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
  if (blockIdx.x == 0 && t < static_cast<unsigned>(width)) {
    const int c = static_cast<int>(t);
    for (int i = 0; i < width; ++i) {
      double value = i == c ? 1 : 0;
      for (int k = c; k < i; ++k) value -= u[i][k] * inverse[k][c];
      inverse[i][c] = value;
      task.inverse[task.from + i + static_cast<Index>(task.from + c) * task.order] = value;
    }
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
    const double down = below >= 0 ? column[comes] : 0;
    __syncwarp();
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

// --------------------------------------------------------------------------------------------------------------- rows

/// w[j + g ldw] = row rows.at[g] of column j: rows become contiguous. Where into[g] is not negative, that row of the
/// matrix comes into the place of the row that was taken; it is none of those that are taken with a row to follow.
extern "C" __global__ void __launch_bounds__(256)
    hpl_gather(double* a, Index lda, Columns columns, Rows rows, const int* into, double* w, Index ldw) {
  __shared__ double tile[kTile][kTile + 1];
  const int lane = static_cast<int>(threadIdx.x % kTile), warp = static_cast<int>(threadIdx.x / kTile);
  const int warps = static_cast<int>(blockDim.x / kTile);
  const int j0 = static_cast<int>(blockIdx.x) * kTile;
  for (int g0 = static_cast<int>(blockIdx.y) * kTile; g0 < rows.count; g0 += static_cast<int>(gridDim.y) * kTile) {
    for (int c = warp; c < kTile; c += warps) {
      const int j = j0 + c, g = g0 + lane;
      if (j >= columns.count || g >= rows.count) continue;
      double* column = a + columns.at(j) * lda;
      tile[c][lane] = column[rows.at[g]];
      if (into != nullptr && into[g] >= 0) column[rows.at[g]] = column[into[g]];
    }
    __syncthreads();
    for (int r = warp; r < kTile; r += warps) {
      const int j = j0 + lane, g = g0 + r;
      if (j < columns.count && g < rows.count) w[j + g * ldw] = tile[lane][r];
    }
    __syncthreads();
  }
}

/// Row rows.at[r] of column j = w[j + r ldw]: rows that came from another rank.
extern "C" __global__ void __launch_bounds__(256)
    hpl_scatter(double* a, Index lda, Columns columns, Rows rows, const double* w, Index ldw) {
  const Index all = static_cast<Index>(columns.count) * rows.count;
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index at = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += step) {
    const int j = static_cast<int>(at % columns.count);
    const Index r = at / columns.count;
    a[rows.at[r] + columns.at(j) * lda] = w[j + r * ldw];
  }
}

/// to[i + j ldt] = from[j + i ldf] for i < rows, j < columns.
extern "C" __global__ void __launch_bounds__(256)
    hpl_turn(const double* from, Index ldf, double* to, Index ldt, int rows, int columns) {
  __shared__ double tile[kTile][kTile + 1];
  const int lane = static_cast<int>(threadIdx.x % kTile), warp = static_cast<int>(threadIdx.x / kTile);
  const int warps = static_cast<int>(blockDim.x / kTile);
  const int j0 = static_cast<int>(blockIdx.x) * kTile;
  for (int i0 = static_cast<int>(blockIdx.y) * kTile; i0 < rows; i0 += static_cast<int>(gridDim.y) * kTile) {
    for (int r = warp; r < kTile; r += warps) {
      if (j0 + lane < columns && i0 + r < rows) tile[r][lane] = from[j0 + lane + (i0 + r) * ldf];
    }
    __syncthreads();
    for (int c = warp; c < kTile; c += warps) {
      if (i0 + lane < rows && j0 + c < columns) to[i0 + lane + (j0 + c) * ldt] = tile[lane][c];
    }
    __syncthreads();
  }
}

/// Column g of `to` is column order.at[g] of `from`; both have `rows` rows.
extern "C" __global__ void __launch_bounds__(256) hpl_reorder(const double* from, double* to, int rows, Rows order) {
  for (int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); at < rows * order.count;
       at += static_cast<int>(gridDim.x * blockDim.x)) {
    const int i = at % rows, g = at / rows;
    to[i + static_cast<Index>(g) * rows] = from[i + static_cast<Index>(order.at[g]) * rows];
  }
}

// -------------------------------------------------------------------------------------------------- back substitution

/// x = the solution of U x = y for the upper triangle of `a`, of that order, by one block; y is kept in shared memory.
extern "C" __global__ void __launch_bounds__(kMostThreads)
    hpl_solve_upper(const double* a, Index lda, int order, const double* y, double* x) {
  HPL_DYNAMIC_SHARED(sums);
  __shared__ double part[32];
  const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int i = t; i < order; i += threads) sums[i] = y[i];
  __syncthreads();
  for (int first = (order - 1) / 32 * 32; first >= 0; first -= 32) {
    const int width = order - first < 32 ? order - first : 32;
    if (t < 32) {
      const double* block = a + first + first * lda;
      double value = t < width ? sums[first + t] : 0;
      for (int c = width - 1; c >= 0; --c) {
        if (t == c) value /= block[c + c * lda];
        const double found = __shfl_sync(~0u, value, c);
        if (t < c) value -= block[t + c * lda] * found;
      }
      if (t < width) x[first + t] = part[t] = value;
    }
    __syncthreads();
    for (int i = t; i < first; i += threads) {
      double value = sums[i];
      HPL_UNROLL
      for (int c = 0; c < width; ++c) value -= a[i + (first + c) * lda] * part[c];
      sums[i] = value;
    }
    __syncthreads();
  }
}

/// y -= A x for A of rows x columns: a block takes 32 rows, its warps the columns in turn.
extern "C" __global__ void __launch_bounds__(256)
    hpl_take_off(const double* a, Index lda, Index rows, int columns, const double* x, double* y) {
  __shared__ double sums[8][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int warps = static_cast<int>(blockDim.x / 32);
  const Index i = static_cast<Index>(blockIdx.x) * 32 + lane;
  double sum = 0;
  if (i < rows) {
    HPL_UNROLL
    for (int c = warp; c < columns; c += warps) sum += a[i + c * lda] * x[c];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || i >= rows) return;
  for (int w = 1; w < warps; ++w) sum += sums[w][lane];
  y[i] -= sum;
}

}  // namespace shakedown::hpl_gpu
