#include "calls.hpp"

#include <algorithm>

#include "hpl_gpu/launches.hpp"

namespace shakedown::hpl_mxp {
namespace {

namespace launches = hpl_gpu::launches;
using launches::number;
using launches::parts;

}  // namespace

gpu::Format format_of(Precision precision) {
  return precision == Precision::f16 ? gpu::Format::f16 : gpu::Format::bf16;
}

const char* word(Precision precision) { return precision == Precision::f16 ? "fp16" : "bf16"; }

gpu::Grid Calls::flat(Index items) const { return launches::flat(items, kernels_.threads); }

gpu::Grid Calls::triangle(Index order) const {
  const auto shared = static_cast<unsigned>(order) * static_cast<unsigned>(sizeof(double));
  return {.blocks = 1, .threads = kernels_.triangle_threads, .shared_bytes = shared};
}

void Calls::generate(const Part& part, float* a, Index lda, gpu::Handle stream) const {
  if (part.height == 0 || part.width == 0) return;
  kernels_.generate(launches::entries(part, kernels_.threads), stream, part, hpl::kStep,
                    hpl::kStep.times(kernels_.threads), a, lda, launches::rows_of_block(kernels_.threads));
}

void Calls::diagonal(const Part& part, const double* diagonal, float* a, Index lda, gpu::Handle stream) const {
  if (part.height > 0) kernels_.diagonal(flat(part.height), stream, part, diagonal, a, lda);
}

void Calls::row_sums(const Part& part, const double* x, double* room, double* sums, gpu::Handle stream) const {
  if (part.height == 0) return;
  kernels_.row_sums(launches::by_row(part.height, kChunks, kernels_.threads), stream, part, hpl::kStep,
                    hpl::kStep.times(static_cast<std::uint64_t>(part.n)), x, room,
                    parts(parts(part.width, part.columns.block), kChunks));
  kernels_.join(flat(2 * part.height), stream, room, kChunks, 2 * part.height, sums);
}

void Calls::copy(const float* from, Index ldf, float* to, Index ldt, Index rows, Index columns,
                 gpu::Handle stream) const {
  if (rows <= 0 || columns <= 0) return;
  kernels_.copy(launches::by_column(rows, columns, kernels_.threads), stream, from, ldf, to, ldt, rows,
                static_cast<int>(columns));
}

void Calls::narrow(Precision precision, const float* from, Index ldf, std::uint16_t* to, Index ldt, Index rows,
                   Index columns, double scale, gpu::Handle stream) const {
  if (rows <= 0 || columns <= 0) return;
  kernels_.narrow(launches::by_column(ldt, columns, kernels_.threads), stream, from, ldf, to, ldt, rows, columns,
                  static_cast<float>(scale), precision == Precision::bf16 ? 1 : 0);
}

void Calls::factor(float* a, Index lda, float* lu, Index ldlu, Index order, gpu::Handle stream) const {
  for (Index from = 0; from < order; from += kBase) {
    const Index width = std::min<Index>(kBase, order - from), next = from + width, rest = order - next;
    BaseTask task;
    task.a = a;
    task.lda = lda;
    task.lu = lu;
    task.ldlu = ldlu;
    task.order = static_cast<int>(order);
    task.from = static_cast<int>(from);
    task.width = static_cast<int>(width);
    kernels_.base({.blocks = number(1 + parts(2 * rest, kernels_.threads)), .threads = kernels_.threads}, stream, task);
    if (rest == 0) continue;
    gpu::Product product;
    product.format = gpu::Format::f32;
    product.m = product.n = rest;
    product.k = width;
    product.a = lu + next + from * ldlu;
    product.b = lu + from + next * ldlu;
    product.lda = product.ldb = ldlu;
    product.c = a + next + next * lda;
    product.ldc = lda;
    product.alpha = -1;
    product.beta = 1;
    device_.blas().gemm(product, stream);
  }
}

void Calls::solve_right(const float* lu, Index ldlu, float* b, Index ldb, Index m, Index n, gpu::Handle stream) const {
  gpu::TriangularSingle solve;
  solve.side = 'R';
  solve.uplo = 'U';
  solve.diag = 'N';
  solve_with(solve, lu, ldlu, b, ldb, m, n, stream);
}

void Calls::solve_left(const float* lu, Index ldlu, float* b, Index ldb, Index m, Index n, gpu::Handle stream) const {
  solve_with({}, lu, ldlu, b, ldb, m, n, stream);
}

void Calls::solve_with(gpu::TriangularSingle solve, const float* lu, Index ldlu, float* b, Index ldb, Index m, Index n,
                       gpu::Handle stream) const {
  if (m <= 0 || n <= 0) return;
  solve.m = m;
  solve.n = n;
  solve.a = lu;
  solve.lda = ldlu;
  solve.b = b;
  solve.ldb = ldb;
  device_.blas().trsm_single(solve, stream);
}

void Calls::gemm(Precision precision, Index m, Index n, Index k, double alpha, const std::uint16_t* a, Index lda,
                 const std::uint16_t* b, Index ldb, float* c, Index ldc, gpu::Handle stream) const {
  if (m <= 0 || n <= 0 || k <= 0) return;
  gpu::Product product;
  product.format = format_of(precision);
  product.single_c = true;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a = a;
  product.lda = lda;
  product.b = b;
  product.ldb = ldb;
  product.c = c;
  product.ldc = ldc;
  product.alpha = alpha;
  product.beta = 1;
  device_.blas().gemm(product, stream);
}

void Calls::solve_lower(const float* a, Index lda, Index order, const double* y, double* x, gpu::Handle stream) const {
  kernels_.solve_lower(triangle(order), stream, a, lda, static_cast<int>(order), y, x);
}

void Calls::solve_upper(const float* a, Index lda, Index order, const double* y, double* x, gpu::Handle stream) const {
  kernels_.solve_upper(triangle(order), stream, a, lda, static_cast<int>(order), y, x);
}

void Calls::take_off(const float* a, Index lda, Index rows, Index columns, const double* x, double* y,
                     gpu::Handle stream) const {
  if (rows <= 0) return;
  kernels_.take_off({.blocks = number(parts(rows, 32)), .threads = kernels_.threads}, stream, a, lda, rows,
                    static_cast<int>(columns), x, y);
}

}  // namespace shakedown::hpl_mxp
