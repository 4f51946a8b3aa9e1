// The kernels of HPL-MxP on a device. README.md tells what each costs. They are compiled twice: by nvcc, and as C++
// with gpu/emulate.hpp, which runs them on the host.
#include "gpu/kernel.hpp"
//
#include "gpu/formats.hpp"
#include "hpl_gpu/matrix.cuh"
#include "tasks.hpp"

namespace shakedown::hpl_mxp {

using hpl::Steps;

// ------------------------------------------------------------------------------------------------------------- matrix

/// Every entry but the diagonal is netlib's, rounded to single precision.
extern "C" __global__ void __launch_bounds__(256)
    mxp_generate(Part part, Steps step, Steps stride, float* a, Index lda, Index each) {
  hpl_gpu::fill_part(part, step, stride, a, lda, each);
}

/// The diagonal's entries that are here; `diagonal` goes along the local rows.
extern "C" __global__ void __launch_bounds__(256) mxp_diagonal(Part part, const double* diagonal, float* a, Index lda) {
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < part.height;
       i += static_cast<Index>(gridDim.x) * blockDim.x) {
    const Index row = part.rows.global(i, part.row);
    if (part.columns.owner(row) == part.column) a[i + part.columns.local(row) * lda] = static_cast<float>(diagonal[i]);
  }
}

/// The matrix again, in double precision: sums of a x and |a| with netlib's diagonal, in chunks of columns.
extern "C" __global__ void __launch_bounds__(256)
    mxp_row_sums(Part part, Steps step, Steps across, const double* x, double* sums, Index blocks_each) {
  hpl_gpu::sum_rows(part, step, across, x, sums, blocks_each);
}

/// The chunks of mxp_row_sums together, in their order: `count` sums.
extern "C" __global__ void __launch_bounds__(256)
    mxp_join(const double* chunks, int number, Index count, double* sums) {
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<Index>(gridDim.x) * blockDim.x) {
    double sum = 0;
    for (int chunk = 0; chunk < number; ++chunk) sum += chunks[i + chunk * count];
    sums[i] = sum;
  }
}

// ------------------------------------------------------------------------------------------------------------- panels

extern "C" __global__ void __launch_bounds__(256)
    mxp_copy(const float* from, Index ldf, float* to, Index ldt, Index rows, int columns) {
  for (int j = static_cast<int>(blockIdx.y); j < columns; j += static_cast<int>(gridDim.y)) {
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows; i += step)
      to[i + j * ldt] = from[i + j * ldf];
  }
}

/// to = scale * from in 16 bits, to the nearest; columns down to `ldt` rows, the last of them zeros.
extern "C" __global__ void __launch_bounds__(256) mxp_narrow(const float* from, Index ldf, std::uint16_t* to, Index ldt,
                                                             Index rows, Index columns, float scale, int bfloat) {
  const gpu::SmallFormat format = bfloat != 0 ? gpu::kBfloat : gpu::kHalf;
  for (Index j = blockIdx.y; j < columns; j += gridDim.y) {
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < ldt; i += step) {
      const float value = i < rows ? from[i + j * ldf] * scale : 0;
      to[i + j * ldt] = static_cast<std::uint16_t>(gpu::narrow(value, format));
    }
  }
}

/// LU without pivoting of 32 columns and rows: every block factors the square; block 0 writes it, the others solve for
/// L below it, a row a thread, and for U to its right, a column a thread.
extern "C" __global__ void __launch_bounds__(256) mxp_base(BaseTask task) {
  __shared__ float tile[kBase][kBase + 1];  // row by row; beyond `width` the identity
  const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int width = task.width, lane = t % kBase;
  const float* a = task.a + task.from + task.from * task.lda;
  float* lu = task.lu + task.from + task.from * task.ldlu;
  for (int c = t / kBase; c < kBase; c += threads / kBase)
    tile[lane][c] = lane < width && c < width ? a[lane + c * task.lda] : lane == c ? 1.0f : 0.0f;
  __syncthreads();
  for (int j = 0; j < width; ++j) {
    if (t > j && t < kBase) tile[t][j] /= tile[j][j];
    __syncthreads();
    for (int c = j + 1 + t / kBase; c < width; c += threads / kBase) {
      if (lane > j) tile[lane][c] -= tile[lane][j] * tile[j][c];
    }
    __syncthreads();
  }
  if (blockIdx.x == 0) {
    for (int c = t / kBase; c < width; c += threads / kBase) {
      if (lane < width) lu[lane + c * task.ldlu] = tile[lane][c];
    }
    return;
  }
  const int rest = task.order - task.from - width;
  const int each = (static_cast<int>(blockIdx.x) - 1) * threads + t;
  float values[kBase];
  if (each < rest) {  // row `each` of L: x U = a
    const float* from = a + width + each;
    float* to = lu + width + each;
    GPU_UNROLL(32)
    for (int c = 0; c < kBase; ++c) {
      float value = c < width ? from[c * task.lda] : 0;
      GPU_UNROLL(32)
      for (int l = 0; l < c; ++l) value -= values[l] * tile[l][c];
      values[c] = value / tile[c][c];
      if (c < width) to[c * task.ldlu] = values[c];
    }
  } else if (each < 2 * rest) {  // column `each - rest` of U: L x = a
    const float* from = a + (width + each - rest) * task.lda;
    float* to = lu + (width + each - rest) * task.ldlu;
    GPU_UNROLL(32)
    for (int r = 0; r < kBase; ++r) {
      float value = r < width ? from[r] : 0;
      GPU_UNROLL(32)
      for (int l = 0; l < r; ++l) value -= tile[r][l] * values[l];
      values[r] = value;
      if (r < width) to[r] = value;
    }
  }
}

// --------------------------------------------------------------------------------------------------------- refinement

/// x = the solution of L x = y (ones on L's diagonal), or of U x = y, in double precision, by one block.
extern "C" __global__ void __launch_bounds__(kMostThreads)
    mxp_solve_lower(const float* a, Index lda, int order, const double* y, double* x) {
  GPU_DYNAMIC_SHARED(double, sums);
  __shared__ hpl_gpu::TriangleRoom room;
  hpl_gpu::solve_triangle<true>(a, lda, order, y, x, sums, room);
}
extern "C" __global__ void __launch_bounds__(kMostThreads)
    mxp_solve_upper(const float* a, Index lda, int order, const double* y, double* x) {
  GPU_DYNAMIC_SHARED(double, sums);
  __shared__ hpl_gpu::TriangleRoom room;
  hpl_gpu::solve_triangle<false>(a, lda, order, y, x, sums, room);
}

/// y -= A x for A of rows x columns.
extern "C" __global__ void __launch_bounds__(256)
    mxp_take_off(const float* a, Index lda, Index rows, int columns, const double* x, double* y) {
  __shared__ double sums[8][32];
  hpl_gpu::subtract_product(a, lda, rows, columns, x, y, sums);
}

}  // namespace shakedown::hpl_mxp
