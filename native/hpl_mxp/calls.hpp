// Kernels and products with their sizes as arguments: how large a launch is stands here. Every call only puts work into
// a stream.
#pragma once

#include "kernels.hpp"

namespace shakedown::hpl_mxp {

class Calls {
 public:
  Calls(gpu::Device& device, const gpu::Module& module) : device_(device), kernels_(device, module) {}

  void generate(const Part& part, float* a, Index lda, gpu::Handle stream) const;
  void diagonal(const Part& part, const double* diagonal, float* a, Index lda, gpu::Handle stream) const;
  /// Of each local row the sums of a x and of |a|, one after the other, with netlib's diagonal: 2 x height at `sums`;
  /// `room` holds kChunks times as many.
  void row_sums(const Part& part, const double* x, double* room, double* sums, gpu::Handle stream) const;
  void copy(const float* from, Index ldf, float* to, Index ldt, Index rows, Index columns, gpu::Handle stream) const;
  /// `columns` columns of `rows` numbers times `scale`, in 16 bits, filled with zeros down to `ldt`.
  void narrow(Precision precision, const float* from, Index ldf, std::uint16_t* to, Index ldt, Index rows,
              Index columns, double scale, gpu::Handle stream) const;
  /// LU without pivoting of the square `a`, which is destroyed, into `lu`.
  void factor(float* a, Index lda, float* lu, Index ldlu, Index order, gpu::Handle stream) const;
  /// B = B U^-1 (m x n, U of order n) and B = L^-1 B (m x n, L of order m, ones on its diagonal).
  void solve_right(const float* lu, Index ldlu, float* b, Index ldb, Index m, Index n, gpu::Handle stream) const;
  void solve_left(const float* lu, Index ldlu, float* b, Index ldb, Index m, Index n, gpu::Handle stream) const;
  /// C += alpha A B, A and B in 16 bits, C in 32, the sums in 32.
  void gemm(Precision precision, Index m, Index n, Index k, double alpha, const std::uint16_t* a, Index lda,
            const std::uint16_t* b, Index ldb, float* c, Index ldc, gpu::Handle stream) const;
  void solve_lower(const float* a, Index lda, Index order, const double* y, double* x, gpu::Handle stream) const;
  void solve_upper(const float* a, Index lda, Index order, const double* y, double* x, gpu::Handle stream) const;
  void take_off(const float* a, Index lda, Index rows, Index columns, const double* x, double* y,
                gpu::Handle stream) const;

  [[nodiscard]] gpu::Device& device() const { return device_; }

  static constexpr int kChunks = 16;  // of the columns, summed beside each other

 private:
  [[nodiscard]] gpu::Grid flat(Index items) const;
  [[nodiscard]] gpu::Grid triangle(Index order) const;
  void solve_with(gpu::TriangularSingle solve, const float* lu, Index ldlu, float* b, Index ldb, Index m, Index n,
                  gpu::Handle stream) const;

  gpu::Device& device_;
  Kernels kernels_;
};

gpu::Format format_of(Precision precision);
const char* word(Precision precision);

}  // namespace shakedown::hpl_mxp
