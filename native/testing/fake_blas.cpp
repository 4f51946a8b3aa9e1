// A BLAS in plain loops for the tests, which sanitizers see through: right, or, as FAKE_BLAS says, wrong in one way.
// "wrong_entry" and "nan" damage an entry of a product, "unwritten" leaves one, "wrong_small" multiplies double in
// single, "crash" ends the program by a signal, "ilp64" takes integers of 64 bits. What a library lacks is left out by
// the linker: see CMakeLists.txt.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "fault.hpp"

namespace {

using Index = std::ptrdiff_t;

bool fault(const char* name) { return shakedown::testing::fault_is("FAKE_BLAS", name); }

bool is(const char* word, char letter) { return *word == letter; }

/// An integer as the library has them: of 32 bits, or of 64.
Index integer(const void* at) {
  return fault("ilp64") ? static_cast<Index>(*static_cast<const std::int64_t*>(at))
                        : static_cast<Index>(*static_cast<const std::int32_t*>(at));
}

/// A matrix by columns, or its transpose.
template <class T>
struct Matrix {
  const T* first;
  Index row, column;
  Matrix(const char* trans, const T* at, Index ld)
      : first(at), row(is(trans, 'N') ? 1 : ld), column(is(trans, 'N') ? ld : 1) {}
};

template <class T, class Sum>
void multiply(Index m, Index n, Index k, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c, Index ldc) {
  if (m == 0 || n == 0) return;
  const T kept = c[m - 1 + (n - 1) * ldc];
  std::vector<Sum> sums(static_cast<std::size_t>(m));
  for (Index j = 0; j < n; ++j) {
    T* column = c + j * ldc;
    Sum* sum = sums.data();
    for (Index i = 0; i < m; ++i) sum[i] = beta == 0 ? Sum{0} : static_cast<Sum>(beta * column[i]);
    for (Index l = 0; l < k; ++l) {
      const Sum factor = static_cast<Sum>(alpha) * static_cast<Sum>(b.first[l * b.row + j * b.column]);
      const T* left = a.first + l * a.column;
      for (Index i = 0; i < m; ++i) sum[i] += factor * static_cast<Sum>(left[i * a.row]);
    }
    for (Index i = 0; i < m; ++i) column[i] = static_cast<T>(sum[i]);
  }
  T& entry = c[m / 3 + (n / 2) * ldc];
  if (fault("wrong_entry")) entry += static_cast<T>(1e-3);
  if (fault("nan")) entry = std::numeric_limits<T>::quiet_NaN();
  if (fault("unwritten")) c[m - 1 + (n - 1) * ldc] = kept;
  if (fault("crash")) std::raise(SIGSEGV);
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

void dgemm_(const char* trans_a, const char* trans_b, const void* m, const void* n, const void* k, const double* alpha,
            const double* a, const void* lda, const double* b, const void* ldb, const double* beta, double* c,
            const void* ldc, std::size_t, std::size_t) {
  const auto call = fault("wrong_small") ? multiply<double, float> : multiply<double, double>;
  call(integer(m), integer(n), integer(k), *alpha, {trans_a, a, integer(lda)}, {trans_b, b, integer(ldb)}, *beta, c,
       integer(ldc));
}

void sgemm_(const char* trans_a, const char* trans_b, const void* m, const void* n, const void* k, const float* alpha,
            const float* a, const void* lda, const float* b, const void* ldb, const float* beta, float* c,
            const void* ldc, std::size_t, std::size_t) {
  multiply<float, float>(integer(m), integer(n), integer(k), *alpha, {trans_a, a, integer(lda)},
                         {trans_b, b, integer(ldb)}, *beta, c, integer(ldc));
}

// The one case that hpl asks for: B = B inv(A^T), A unit lower triangular of order n.
void dtrsm_(const char* side, const char* part, const char* trans, const char* diagonal, const void* rows,
            const void* order, const double* alpha, const double* a, const void* a_ld, double* b, const void* b_ld,
            std::size_t, std::size_t, std::size_t, std::size_t) {
  if (!is(side, 'R') || !is(part, 'L') || !is(trans, 'T') || !is(diagonal, 'U') || *alpha != 1) __builtin_trap();
  const Index m = integer(rows), n = integer(order), lda = integer(a_ld), ldb = integer(b_ld);
  for (Index j = 0; j < n; ++j) {
    for (Index l = j + 1; l < n; ++l) {
      for (Index i = 0; i < m; ++i) b[i + l * ldb] -= b[i + j * ldb] * a[l + j * lda];
    }
  }
}

void dcopy_(const void* length, const double* x, const void*, double* y, const void*) {
  const Index n = integer(length);
  for (Index i = 0; i < n; ++i) y[i] = x[i];
}

// The service functions of one real library, so that reading them is tested without it.
const char* openblas_get_config() { return "OpenBLAS 9.8.7.6 NO_AFFINITY Plaincore SINGLE_THREADED"; }
const char* openblas_get_corename() { return "Plaincore"; }
int openblas_get_parallel() { return 0; }
void openblas_set_num_threads(int) {}
int openblas_get_num_threads() { return 1; }

}  // extern "C"
