// The kernels of HPL on a device. README.md tells what each costs. They are compiled twice: by nvcc, and as C++ with
// gpu/emulate.hpp, which runs them on the host.
#include "gpu/kernel.hpp"
//
#include "base_panel.cuh"
#include "matrix.cuh"

namespace shakedown::hpl_gpu {

// ------------------------------------------------------------------------------------------------------------- matrix

extern "C" __global__ void __launch_bounds__(256)
    hpl_generate(Part part, Steps step, Steps stride, double* a, Index lda, Index each) {
  fill_part(part, step, stride, a, lda, each);
}

extern "C" __global__ void __launch_bounds__(256)
    hpl_row_sums(Part part, Steps step, Steps across, const double* x, double* sums, Index blocks_each) {
  sum_rows(part, step, across, x, sums, blocks_each);
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
  GPU_DYNAMIC_SHARED(double, sums);
  __shared__ TriangleRoom room;
  solve_triangle<false>(a, lda, order, y, x, sums, room);
}

/// y -= A x for A of rows x columns.
extern "C" __global__ void __launch_bounds__(256)
    hpl_take_off(const double* a, Index lda, Index rows, int columns, const double* x, double* y) {
  __shared__ double sums[8][32];
  subtract_product(a, lda, rows, columns, x, y, sums);
}

}  // namespace shakedown::hpl_gpu
