// A BLAS in plain loops for the tests of hpl: what it calls, right, and seen by the sanitizers. FAKE_NO_DTRSM leaves
// the triangular solve out.
#include <cstddef>
#include <cstdint>

namespace {

using Int = std::int32_t;

bool is(const char* word, char letter) { return *word == letter; }

}  // namespace

extern "C" {

void dgemm_(const char* trans_a, const char* trans_b, const Int* m, const Int* n, const Int* k, const double* alpha,
            const double* a, const Int* lda, const double* b, const Int* ldb, const double* beta, double* c,
            const Int* ldc, std::size_t, std::size_t) {
  const std::ptrdiff_t a_row = is(trans_a, 'N') ? 1 : *lda, a_column = is(trans_a, 'N') ? *lda : 1;
  const std::ptrdiff_t b_row = is(trans_b, 'N') ? 1 : *ldb, b_column = is(trans_b, 'N') ? *ldb : 1;
  for (std::ptrdiff_t j = 0; j < *n; ++j) {
    double* column = c + j * *ldc;
    for (std::ptrdiff_t i = 0; i < *m; ++i) column[i] = *beta == 0 ? 0 : *beta * column[i];
    for (std::ptrdiff_t l = 0; l < *k; ++l) {
      const double factor = *alpha * b[l * b_row + j * b_column];
      for (std::ptrdiff_t i = 0; i < *m; ++i) column[i] += factor * a[i * a_row + l * a_column];
    }
  }
}

#ifndef FAKE_NO_DTRSM
// The one case that hpl asks for: B = B inv(A^T), A unit lower triangular of order n.
void dtrsm_(const char* side, const char* part, const char* trans, const char* diagonal, const Int* m, const Int* n,
            const double* alpha, const double* a, const Int* lda, double* b, const Int* ldb, std::size_t, std::size_t,
            std::size_t, std::size_t) {
  if (!is(side, 'R') || !is(part, 'L') || !is(trans, 'T') || !is(diagonal, 'U') || *alpha != 1) __builtin_trap();
  for (std::ptrdiff_t j = 0; j < *n; ++j) {
    for (std::ptrdiff_t l = j + 1; l < *n; ++l) {
      for (std::ptrdiff_t i = 0; i < *m; ++i) b[i + l * *ldb] -= b[i + j * *ldb] * a[l + j * *lda];
    }
  }
}
#endif

void dcopy_(const Int* n, const double* x, const Int*, double* y, const Int*) {
  for (Int i = 0; i < *n; ++i) y[i] = x[i];
}
}
