// A libcublas.so for tests: what the backend calls of cuBLAS and cublasLt, by the host's products. FAKE_CUBLAS is a
// word: "old" asks for a newer driver, "wrong" damages each result, "nothing" writes none.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "fault.hpp"
#include "gpu/host.hpp"

namespace {

using shakedown::gpu::Blas;
using shakedown::gpu::Format;
using shakedown::gpu::Handle;
using shakedown::gpu::Product;

bool fault(const char* name) { return shakedown::testing::fault_is("FAKE_CUBLAS", name); }

Blas& blas() {
  static auto devices = shakedown::gpu::host_devices(1);
  return devices.front()->blas();
}

/// The format that cuBLAS's types stand for.
Format format_of(int in, int compute) {
  switch (in) {
    case 1:
      return Format::f64;
    case 0:
      return compute == 77 ? Format::tf32 : Format::f32;
    case 14:
      return Format::bf16;
    case 2:
      return Format::f16;
    case 3:
      return Format::i8;
    default:
      return Format::f8;
  }
}

double scalar(Format format, const void* at) {
  if (format == Format::f64) return *static_cast<const double*>(at);
  if (format == Format::i8) return *static_cast<const int*>(at);
  return static_cast<double>(*static_cast<const float*>(at));
}

/// What the library refuses as an invalid value: columns that are shorter than the matrix is high.
bool fits(const Product& p) {
  const auto least = [](char trans, std::int64_t rows, std::int64_t columns) { return trans == 'T' ? columns : rows; };
  return p.lda >= least(p.trans_a, p.m, p.k) && p.ldb >= least(p.trans_b, p.k, p.n) && p.ldc >= p.m;
}

int multiply(const Product& product) {
  if (!fits(product)) return 7;
  if (fault("nothing")) return 0;
  blas().gemm(product, nullptr);
  if (fault("wrong")) std::memset(product.c, 0x3f, 8);
  return 0;
}

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t ld;
};
struct Operation {
  int compute, trans_a, trans_b;
};
struct Made {
  Handle stream = nullptr;
};

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

// For tests: the handles that there are, how often one was given a stream, and the stream of the newest product.
std::atomic<int> fake_handles{0}, fake_moves{0};
std::atomic<Handle> fake_stream{nullptr};

int cublasCreate_v2(Handle* handle) {
  if (fault("old")) return 1;
  blas();
  *handle = new Made;
  ++fake_handles;
  return 0;
}
int cublasDestroy_v2(Handle handle) {
  --fake_handles;
  return delete static_cast<Made*>(handle), 0;
}
int cublasSetStream_v2(Handle handle, Handle stream) {
  static_cast<Made*>(handle)->stream = stream;
  return ++fake_moves, 0;
}
int cublasGetProperty(int part, int* value) { return *value = part == 0 ? 13 : part == 1 ? 0 : 2, 0; }
int cublasGemmEx(Handle handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, const void* a,
                 int type, int lda, const void* b, int, int ldb, const void* beta, void* c, int out, int ldc,
                 int compute, int) {
  const Format format = format_of(type, compute);
  fake_stream = static_cast<Made*>(handle)->stream;
  return multiply({format, trans_a != 0 ? 'T' : 'N', trans_b != 0 ? 'T' : 'N', m, n, k, a, lda, b, ldb, c, ldc,
                   scalar(format, alpha), scalar(format, beta),
                   out == 0 && (format == Format::f16 || format == Format::bf16)});
}
int cublasDtrsm_v2(Handle, int side, int upper, int trans, int unit, int m, int n, const double* alpha, const double* a,
                   int lda, double* b, int ldb) {
  blas().trsm({side != 0 ? 'R' : 'L', upper != 0 ? 'U' : 'L', trans != 0 ? 'T' : 'N', unit != 0 ? 'U' : 'N', m, n,
               *alpha, a, lda, b, ldb},
              nullptr);
  return 0;
}
int cublasStrsm_v2(Handle, int side, int upper, int trans, int unit, int m, int n, const float* alpha, const float* a,
                   int lda, float* b, int ldb) {
  blas().trsm_single({side != 0 ? 'R' : 'L', upper != 0 ? 'U' : 'L', trans != 0 ? 'T' : 'N', unit != 0 ? 'U' : 'N', m,
                      n, static_cast<double>(*alpha), a, lda, b, ldb},
                     nullptr);
  return 0;
}

int cublasLtCreate(Handle* handle) { return *handle = &blas(), 0; }
int cublasLtDestroy(Handle) { return 0; }
int cublasLtMatmulDescCreate(Handle* made, int compute, int) { return *made = new Operation{compute, 0, 0}, 0; }
int cublasLtMatmulDescDestroy(Handle made) { return delete static_cast<Operation*>(made), 0; }
int cublasLtMatmulDescSetAttribute(Handle made, int which, const void* value, std::size_t) {
  (which == 3 ? static_cast<Operation*>(made)->trans_a : static_cast<Operation*>(made)->trans_b) =
      *static_cast<const int*>(value);
  return 0;
}
int cublasLtMatrixLayoutCreate(Handle* made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  return *made = new Layout{type, rows, columns, ld}, 0;
}
int cublasLtMatrixLayoutDestroy(Handle made) { return delete static_cast<Layout*>(made), 0; }
int cublasLtMatmulPreferenceCreate(Handle* made) { return *made = nullptr, 0; }
int cublasLtMatmulPreferenceDestroy(Handle) { return 0; }
int cublasLtMatmulPreferenceSetAttribute(Handle, int, const void*, std::size_t) { return 0; }
int cublasLtMatmulAlgoGetHeuristic(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, void*, int* found) {
  return *found = 1, 0;
}
int cublasLtMatmul(Handle, Handle made, const void* alpha, const void* a, Handle a_layout, const void* b,
                   Handle b_layout, const void* beta, const void*, Handle, void* c, Handle c_layout, const void*, void*,
                   std::size_t, Handle) {
  const auto& operation = *static_cast<const Operation*>(made);
  const auto& left = *static_cast<const Layout*>(a_layout);
  const auto& right = *static_cast<const Layout*>(b_layout);
  const auto& out = *static_cast<const Layout*>(c_layout);
  const auto k = operation.trans_a != 0 ? left.rows : left.columns;
  const Format format = format_of(left.type, operation.compute);
  return multiply({format, operation.trans_a != 0 ? 'T' : 'N', operation.trans_b != 0 ? 'T' : 'N',
                   static_cast<std::int64_t>(out.rows), static_cast<std::int64_t>(out.columns),
                   static_cast<std::int64_t>(k), a, left.ld, b, right.ld, c, out.ld, scalar(format, alpha),
                   scalar(format, beta)});
}

}  // extern "C"
