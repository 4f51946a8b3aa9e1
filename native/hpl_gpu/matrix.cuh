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

/// x = the solution of T x = y by one block, T the triangle of `a` of that order: the upper, or the lower one with ones
/// on its diagonal. `sums` is shared memory for y, `part` for 32 of x.
template <bool kLower, class T>
__device__ __forceinline__ void solve_triangle(const T* a, Index lda, int order, const double* y, double* x,
                                               double* sums, double* part) {
  const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int i = t; i < order; i += threads) sums[i] = y[i];
  __syncthreads();
  const int steps = (order + 31) / 32;
  for (int step = 0; step < steps; ++step) {
    const int first = 32 * (kLower ? step : steps - 1 - step);
    const int width = order - first < 32 ? order - first : 32;
    if (t < 32) {
      const T* block = a + first + first * lda;
      double value = t < width ? sums[first + t] : 0;
      for (int at = 0; at < width; ++at) {
        const int c = kLower ? at : width - 1 - at;
        if (!kLower && t == c) value /= static_cast<double>(block[c + c * lda]);
        const double found = __shfl_sync(~0u, value, c);
        if (kLower ? t > c && t < width : t < c) value -= static_cast<double>(block[t + c * lda]) * found;
      }
      if (t < width) x[first + t] = part[t] = value;
    }
    __syncthreads();
    const int begin = kLower ? first + width : 0, end = kLower ? order : first;
    for (int i = begin + t; i < end; i += threads) {
      double value = sums[i];
      GPU_UNROLL(8)
      for (int c = 0; c < width; ++c) value -= static_cast<double>(a[i + (first + c) * lda]) * part[c];
      sums[i] = value;
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
