// A BLAS for the tests, in one of several conditions (-DFAKE_...): computes right, or wrong in one way.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>

#ifdef FAKE_ILP64
using Int = std::int64_t;
#else
using Int = std::int32_t;
#endif

namespace {

template <class T, class Sum>
void multiply(Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta, T* c, Int ldc) {
#ifdef FAKE_UNWRITTEN
  const T kept = c[m - 1 + (n - 1) * ldc];
#endif
  for (Int j = 0; j < n; ++j) {
    for (Int i = 0; i < m; ++i) {
      Sum sum = 0;
      for (Int l = 0; l < k; ++l) sum += static_cast<Sum>(a[i + l * lda]) * static_cast<Sum>(b[l + j * ldb]);
      T& out = c[i + j * ldc];
      out = alpha * static_cast<T>(sum) + (beta == T{0} ? T{0} : beta * out);
    }
  }
#if defined(FAKE_WRONG_ENTRY)
  c[m / 3 + (n / 2) * ldc] += static_cast<T>(1e-3);
#elif defined(FAKE_NAN)
  c[m / 3 + (n / 2) * ldc] = std::numeric_limits<T>::quiet_NaN();
#elif defined(FAKE_UNWRITTEN)
  c[m - 1 + (n - 1) * ldc] = kept;
#elif defined(FAKE_CRASH)
  std::raise(SIGSEGV);
#endif
}

}  // namespace

extern "C" {

#ifndef FAKE_NO_DGEMM
void dgemm_(const char*, const char*, const Int* m, const Int* n, const Int* k, const double* alpha, const double* a,
            const Int* lda, const double* b, const Int* ldb, const double* beta, double* c, const Int* ldc, std::size_t,
            std::size_t) {
#ifdef FAKE_WRONG_SMALL  // the arithmetic of the next smaller format
  multiply<double, float>(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
#else
  multiply<double, double>(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
#endif
}
#endif

#ifndef FAKE_NO_SGEMM
void sgemm_(const char*, const char*, const Int* m, const Int* n, const Int* k, const float* alpha, const float* a,
            const Int* lda, const float* b, const Int* ldb, const float* beta, float* c, const Int* ldc, std::size_t,
            std::size_t) {
  multiply<float, float>(*m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}
#endif

void dcopy_(const Int* n, const double* x, const Int*, double* y, const Int*) {
  for (Int i = 0; i < *n; ++i) y[i] = x[i];
}

// The service functions of one real library, so that reading them is tested without it.
#ifdef FAKE_SERIAL
const char* openblas_get_config() { return "OpenBLAS 9.8.7.6 NO_AFFINITY Plaincore SINGLE_THREADED"; }
const char* openblas_get_corename() { return "Plaincore"; }
int openblas_get_parallel() { return 0; }
void openblas_set_num_threads(int) {}
int openblas_get_num_threads() { return 1; }
#endif
}
