#include "calls.hpp"

#include <algorithm>

#include "launches.hpp"

namespace shakedown::hpl_gpu {
namespace {

using launches::kMostY;
using launches::number;
using launches::parts;

constexpr unsigned kOrdinary = 48 << 10;
constexpr unsigned kStaticShared = 10 << 10;  // of the base panel's kernel; README.md

}  // namespace

gpu::Grid Calls::flat(Index items) const { return launches::flat(items, kernels_.threads); }

gpu::Grid Calls::tiles(Index across, Index down) const {
  return {.blocks = number(parts(across, kTile)),
          .threads = kernels_.threads,
          .blocks_y = number(std::min(parts(down, kTile), kMostY))};
}

void Calls::generate(const Part& part, double* a, Index lda, gpu::Handle stream) const {
  if (part.height == 0 || part.width == 0) return;
  kernels_.generate(launches::entries(part, kernels_.threads), stream, part, hpl::kStep,
                    hpl::kStep.times(kernels_.threads), a, lda, launches::rows_of_block(kernels_.threads));
}

void Calls::row_sums(const Part& part, const double* x, double* sums, int chunks, gpu::Handle stream) const {
  if (part.height == 0) return;
  kernels_.row_sums(launches::by_row(part.height, chunks, kernels_.threads), stream, part, hpl::kStep,
                    hpl::kStep.times(static_cast<std::uint64_t>(part.n)), x, sums,
                    parts(parts(part.width, part.columns.block), chunks));
}

void Calls::column_sums(const Part& part, double* sums, gpu::Handle stream) const {
  if (part.width == 0) return;
  kernels_.column_sums(launches::by_row(part.width, 1, kernels_.threads), stream, part, hpl::kStep, sums);
}

void Calls::copy(const double* from, Index ldf, double* to, Index ldt, Index rows, Index columns,
                 gpu::Handle stream) const {
  if (rows <= 0 || columns <= 0) return;
  kernels_.copy(launches::by_column(rows, columns, kernels_.threads), stream, from, ldf, to, ldt, rows,
                static_cast<int>(columns));
}

void Calls::gather(double* a, Index lda, const Columns& columns, const Rows& rows, const int* into, double* w,
                   Index ldw, gpu::Handle stream) const {
  if (columns.count == 0 || rows.count == 0) return;
  kernels_.gather(tiles(columns.count, rows.count), stream, a, lda, columns, rows, into, w, ldw);
}

void Calls::scatter(double* a, Index lda, const Columns& columns, const Rows& rows, const double* w, Index ldw,
                    gpu::Handle stream) const {
  if (columns.count == 0 || rows.count == 0) return;
  kernels_.scatter(flat(static_cast<Index>(columns.count) * rows.count), stream, a, lda, columns, rows, w, ldw);
}

void Calls::turn(const double* from, Index ldf, double* to, Index ldt, Index rows, Index columns,
                 gpu::Handle stream) const {
  if (rows <= 0 || columns <= 0) return;
  kernels_.turn(tiles(columns, rows), stream, from, ldf, to, ldt, static_cast<int>(rows), static_cast<int>(columns));
}

void Calls::reorder(const double* from, double* to, Index rows, const Rows& order, gpu::Handle stream) const {
  kernels_.reorder(flat(rows * order.count), stream, from, to, static_cast<int>(rows), order);
}

void Calls::base(const BaseTask& task, const BaseShape& shape, gpu::Handle stream) const {
  BaseTask mine = task;
  mine.each = shape.each;
  const auto& kernel = shape.resident ? kernels_.base_shared : kernels_.base_global;
  // Its blocks wait for one another, and start one by one as blocks of the update end; the stream is urgent, so that
  // they are the first in line. Started together they would wait until as many multiprocessors are empty at one moment,
  // which an update that fills every place again may never let happen. All of them come to be there: they fit an empty
  // device (base_limits), and whatever else has its blocks on it ends by itself. Products, copies and exchanges of rows
  // wait for nothing while they run; what is behind this launch, in its own stream or by an event, has not begun and
  // holds no place; another launch of this kernel can only be in the same stream, before it and done or behind it. Nor
  // do the blocks wait for anything behind them: block 0 asks the host, which answers after messages between hosts.
  // Where ranks share a device (`at_once`) two of these kernels can meet, each with some of its blocks there and the
  // places of the others taken: they start together or not at all.
  // 48 KiB is what a kernel has without being asked for more, its static shared memory included; the backend counts the
  // dynamic alone. What lies between is rounded up to where it asks.
  const bool between = shape.shared_bytes + kStaticShared > kOrdinary && shape.shared_bytes <= kOrdinary;
  kernel({.blocks = shape.blocks,
          .threads = kernels_.base_threads,
          .shared_bytes = between ? kOrdinary + 1024 : shape.shared_bytes,
          .cooperative = shape.at_once,
          .waiting = !shape.at_once},
         stream, mine);
}

void Calls::permute(const BaseTask& task, double* raw, gpu::Handle stream) const {
  const Index columns = task.order - task.width;
  if (columns > 0) kernels_.permute(flat(columns * kTile), stream, task, raw);
}

void Calls::place(const BaseTask& task, double* raw, const double* w, Index ldw, const Rows& order,
                  gpu::Handle stream) const {
  const Index columns = task.order - task.width;
  if (columns > 0) kernels_.place(flat(columns * order.count), stream, task, raw, w, ldw, order);
}

void Calls::solve_upper(const double* a, Index lda, Index order, const double* y, double* x, gpu::Handle stream) const {
  const auto shared = static_cast<unsigned>(order) * static_cast<unsigned>(sizeof(double));
  kernels_.solve_upper({.blocks = 1, .threads = kernels_.base_threads, .shared_bytes = shared}, stream, a, lda,
                       static_cast<int>(order), y, x);
}

void Calls::take_off(const double* a, Index lda, Index rows, Index columns, const double* x, double* y,
                     gpu::Handle stream) const {
  if (rows <= 0) return;
  kernels_.take_off({.blocks = number(parts(rows, kTile)), .threads = kernels_.threads}, stream, a, lda, rows,
                    static_cast<int>(columns), x, y);
}

void Calls::gemm(char trans_b, Index m, Index n, Index k, double alpha, const double* a, Index lda, const double* b,
                 Index ldb, double beta, double* c, Index ldc, gpu::Handle stream) const {
  if (m <= 0 || n <= 0 || k <= 0) return;
  gpu::Product product;
  product.trans_b = trans_b;
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
  product.beta = beta;
  device_.blas().gemm(product, stream);
}

BaseLimits Calls::base_limits(unsigned wanted) const {
  const auto& info = device_.info();
  BaseLimits limits;
  if (!kernels_.device_side) {  // blocks are threads of the host, which would only wait for one another
    limits.blocks = wanted > 0 ? wanted : 1;
    limits.shared_bytes = info.shared_bytes;
    limits.rows_wanted = 64;
    return limits;
  }
  limits.shared_bytes = info.shared_bytes > kStaticShared ? info.shared_bytes - kStaticShared : 0;
  // What can be on the device at once, with no shared memory and with all of it: one block a multiprocessor at least.
  gpu::Grid grid{.blocks = 1, .threads = kernels_.base_threads};
  unsigned resident = kernels_.base_global.resident_blocks(grid);
  grid.shared_bytes = static_cast<unsigned>(limits.shared_bytes);
  resident = std::min(resident, kernels_.base_shared.resident_blocks(grid));
  // As many as the lanes of the warp that hears them: more would cost each column another look.
  const auto quarter = static_cast<unsigned>(std::clamp(info.multiprocessors / 4, 1, kTile));
  limits.blocks = std::max(1u, std::min(resident, wanted > 0 ? wanted : quarter));
  return limits;
}

}  // namespace shakedown::hpl_gpu
