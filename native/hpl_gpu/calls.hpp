// Kernels and products with their sizes as arguments: how large a launch is stands here. Every call only puts work into
// a stream.
#pragma once

#include "kernels.hpp"

namespace shakedown::hpl_gpu {

class Calls {
 public:
  Calls(gpu::Device& device, const gpu::Module& module) : device_(device), kernels_(device, module) {}

  void generate(const Part& part, double* a, Index lda, gpu::Handle stream) const;
  /// `chunks` partial sums of each row; see kernels.cu.
  void row_sums(const Part& part, const double* x, double* sums, int chunks, gpu::Handle stream) const;
  void column_sums(const Part& part, double* sums, gpu::Handle stream) const;
  void copy(const double* from, Index ldf, double* to, Index ldt, Index rows, Index columns, gpu::Handle stream) const;
  void gather(double* a, Index lda, const Columns& columns, const Rows& rows, const int* into, double* w, Index ldw,
              gpu::Handle stream) const;
  void scatter(double* a, Index lda, const Columns& columns, const Rows& rows, const double* w, Index ldw,
               gpu::Handle stream) const;
  void turn(const double* from, Index ldf, double* to, Index ldt, Index rows, Index columns, gpu::Handle stream) const;
  void reorder(const double* from, double* to, Index rows, const Rows& order, gpu::Handle stream) const;
  void base(const BaseTask& task, const BaseShape& shape, gpu::Handle stream) const;
  void permute(const BaseTask& task, double* raw, gpu::Handle stream) const;
  void place(const BaseTask& task, double* raw, const double* w, Index ldw, const Rows& order,
             gpu::Handle stream) const;
  void solve_upper(const double* a, Index lda, Index order, const double* y, double* x, gpu::Handle stream) const;
  void take_off(const double* a, Index lda, Index rows, Index columns, const double* x, double* y,
                gpu::Handle stream) const;
  /// C = alpha A op(B) + beta C; nothing where C has no entries.
  void gemm(char trans_b, Index m, Index n, Index k, double alpha, const double* a, Index lda, const double* b,
            Index ldb, double beta, double* c, Index ldc, gpu::Handle stream) const;

  [[nodiscard]] gpu::Device& device() const { return device_; }
  /// What bounds the panel's kernel on this device, beside an update. `wanted` of 0: a quarter of the multiprocessors.
  [[nodiscard]] BaseLimits base_limits(unsigned wanted) const;

 private:
  [[nodiscard]] gpu::Grid flat(Index items) const;
  [[nodiscard]] gpu::Grid tiles(Index across, Index down) const;

  gpu::Device& device_;
  Kernels kernels_;
};

}  // namespace shakedown::hpl_gpu
