// A libcublas.so for tests: what the backend calls of cuBLAS and cublasLt, by the host's products. FAKE_CUBLAS is a
// word: "old" asks for a newer driver, "wrong" damages each result, "nothing" writes none.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "host.hpp"

namespace {

using shakedown::gpu::Blas;
using shakedown::gpu::Format;
using shakedown::gpu::Handle;
using shakedown::gpu::Product;

std::string fault() {
  const char* word = std::getenv("FAKE_CUBLAS");
  return word == nullptr ? "" : word;
}

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

int multiply(const Product& product) {
  if (fault() == "nothing") return 0;
  blas().gemm(product, nullptr);
  if (fault() == "wrong") std::memset(product.c, 0x3f, 8);
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

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

int cublasCreate_v2(Handle* handle) { return *handle = &blas(), fault() == "old" ? 1 : 0; }
int cublasDestroy_v2(Handle) { return 0; }
int cublasSetStream_v2(Handle, Handle) { return 0; }
int cublasGetProperty(int part, int* value) { return *value = part == 0 ? 13 : part == 1 ? 0 : 2, 0; }
int cublasGemmEx(Handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, const void* a, int type,
                 int lda, const void* b, int, int ldb, const void* beta, void* c, int out, int ldc, int compute, int) {
  const Format format = format_of(type, compute);
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
