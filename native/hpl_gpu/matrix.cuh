// The matrix and the triangles as kernels of several programs make and use them; a part of a file of kernels, which
// includes the words that they are written in.
#pragma once

#include "hpl_gpu/tasks.hpp"

namespace shakedown::hpl_gpu {
namespace {

using hpl::Steps;

/// The state that gives entry (i, j) of [A b]: elements are numbered down the columns.
__device__ __forceinline__ std::uint64_t state_of(const Steps& step, Index n, Index i, Index j) {
  return step.times(static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n) +
                    static_cast<std::uint64_t>(i))(hpl::kSeed);
}

/// A block goes down part of a column: each thread takes every blockDim-th row. `stride`: as many steps as a block has
/// threads.
template <class T>
__device__ __forceinline__ void fill_part(const Part& part, const Steps& step, const Steps& stride, T* a, Index lda,
                                          Index each) {
  const Index begin = blockIdx.x * each;
  const Index end = begin + each < part.height ? begin + each : part.height;
  for (Index j = blockIdx.y; j < part.width; j += gridDim.y) {
    const Index column = part.columns.global(j, part.column);
    Index i = begin + threadIdx.x;
    if (i >= end) continue;
    std::uint64_t state = state_of(step, part.n, part.rows.global(i, part.row), column);
    for (; i < end; i += blockDim.x) {
      a[i + j * lda] = static_cast<T>(hpl::entry_of(state));
      state = part.rows.parts == 1 ? stride(state)
                                   : state_of(step, part.n, part.rows.global(i + blockDim.x, part.row), column);
    }
  }
}

/// Of each local row, over the columns of A (not b) in some of the local blocks: the sum of a x and of |a|.
/// sums[2 (chunk height + row)] and the next; chunk is blockIdx.y. `across`: the steps from a column to the next.
__device__ __forceinline__ void sum_rows(const Part& part, const Steps& step, const Steps& across, const double* x,
                                         double* sums, Index blocks_each) {
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

/// What the solution of a triangle keeps in shared memory beside y.
struct TriangleRoom {
  double found[32];     // the newest entries of x
  double next[32][32];  // a square on the diagonal, column by column, every row divided by its entry on the diagonal
  double inverse[32];   // of these entries
};

/// A warp brings a square of T's diagonal, a row a lane: what stands beside the diagonal in the triangle, else zeros.
/// The loads do not wait for each other. Columns and rows from `width` on are the identity's.
template <bool kLower, class T>
__device__ __forceinline__ void load_square(const T* square, Index lda, int lane, int width, TriangleRoom& room) {
  const T* row = square + lane;
  T loaded[32];
  GPU_UNROLL(32)
  for (int c = 0; c < 32; ++c) {
    const bool beside = kLower ? c < lane && lane < width : c > lane && c < width;
    loaded[c] = beside ? row[c * lda] : 0;
  }
  const double inverse = kLower || lane >= width ? 1 : 1 / static_cast<double>(row[lane * lda]);
  GPU_UNROLL(32)
  for (int c = 0; c < 32; ++c) room.next[c][lane] = static_cast<double>(loaded[c]) * inverse;
  room.inverse[lane] = inverse;
}

/// That square's solution, of which each lane has an entry; `value` was y's. A step of the chain is a shuffle and a
/// multiplication.
template <bool kLower>
__device__ __forceinline__ double solve_square(const TriangleRoom& room, int lane, double value) {
  value *= room.inverse[lane];
  double row[32];
  GPU_UNROLL(32)
  for (int c = 0; c < 32; ++c) row[c] = room.next[c][lane];
  GPU_UNROLL(32)
  for (int at = 0; at < 32; ++at) {
    const int c = kLower ? at : 31 - at;
    const double found = __shfl_sync(~0u, value, c);
    if (kLower ? c < lane : c > lane) value -= row[c] * found;  // a zero would carry NaN to where there is none
  }
  return value;
}

/// The sum of 32 entries of a row with those of x; the loads do not wait for each other.
template <class T>
__device__ __forceinline__ double product_of_32(const T* row, Index lda, const double* x) {
  double even = 0, odd = 0;
  GPU_UNROLL(16)
  for (int c = 0; c < 32; c += 2) {
    even += static_cast<double>(row[c * lda]) * x[c];
    odd += static_cast<double>(row[(c + 1) * lda]) * x[c + 1];
  }
  return even + odd;
}

/// x = the solution of T x = y by one block, T the triangle of `a` of that order: the upper, or the lower one with ones
/// on its diagonal. `sums` is shared memory for y. The first warp solves the squares on the diagonal; while the others,
/// of which there is one at least, take 32 entries of x off y, it brings the next square.
template <bool kLower, class T>
__device__ __forceinline__ void solve_triangle(const T* a, Index lda, int order, const double* y, double* x,
                                               double* sums, TriangleRoom& room) {
  const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int steps = (order + 31) / 32;
  const auto first_of = [&](int step) { return 32 * (kLower ? step : steps - 1 - step); };
  const auto width_at = [&](int first) { return order - first < 32 ? order - first : 32; };
  for (int i = t; i < order; i += threads) sums[i] = y[i];
  __syncthreads();
  for (int step = -1; step < steps; ++step) {
    if (step >= 0) {
      const int first = first_of(step), width = width_at(first);
      if (t < 32) {
        const double value = solve_square<kLower>(room, t, t < width ? sums[first + t] : 0);
        if (t < width) x[first + t] = room.found[t] = value;
      }
      __syncthreads();
    }
    if (t < 32 && step + 1 < steps) {
      const int first = first_of(step + 1);
      load_square<kLower>(a + first + first * lda, lda, t, width_at(first), room);
    } else if (t >= 32 && step >= 0) {
      const int first = first_of(step), width = width_at(first);
      const int end = kLower ? order : first;
      for (int i = (kLower ? first + width : 0) + t - 32; i < end; i += threads - 32) {
        const T* row = a + i + first * lda;
        if (width == 32) {
          sums[i] -= product_of_32(row, lda, room.found);
          continue;
        }
        GPU_UNROLL(1)  // the last columns of a matrix
        for (int c = 0; c < width; ++c) sums[i] -= static_cast<double>(row[c * lda]) * room.found[c];
      }
    }
    __syncthreads();
  }
}

/// y -= A x for A of rows x columns: a block takes 32 rows, its warps (at most 8) the columns in turn.
template <class T>
__device__ __forceinline__ void subtract_product(const T* a, Index lda, Index rows, int columns, const double* x,
                                                 double* y, double (*sums)[32]) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int warps = static_cast<int>(blockDim.x / 32);
  const Index i = static_cast<Index>(blockIdx.x) * 32 + lane;
  double sum = 0;
  if (i < rows) {
    GPU_UNROLL(8)
    for (int c = warp; c < columns; c += warps) sum += static_cast<double>(a[i + c * lda]) * x[c];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || i >= rows) return;
  for (int w = 1; w < warps; ++w) sum += sums[w][lane];
  y[i] -= sum;
}

}  // namespace
}  // namespace shakedown::hpl_gpu
