// A loop around cuBLAS with none of our interface in between. Constants are those of cublas_api.h and library_types.h.
#include <dlfcn.h>

#include "gpu_gemm.hpp"

namespace shakedown::gpu_gemm {
namespace {

struct Types {
  int in, out, compute;
};
Types types_of(int format) {
  switch (format) {
    case kF64:
      return {1, 1, 70};
    case kF32:
      return {0, 0, 68};
    case kTf32:
      return {0, 0, 77};
    case kBf16:
      return {14, 14, 68};
    case kF16:
      return {2, 2, 68};
    default:
      return {3, 10, 72};
  }
}

gpu::Failure broken(const std::string& what) {
  return {gpu::State::no_library, "cuBLAS alone: " + what, "leave --bare out, or name the library with --cublas"};
}

}  // namespace

Bare::Bare(const std::string& library) {
  void* found = library == "auto" ? nullptr : dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}) {
    // RTLD_NOLOAD: the one that our own calls have loaded
    if (found == nullptr) found = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  }
  if (found == nullptr) throw broken("it is not loaded");
  auto* create = reinterpret_cast<int (*)(gpu::Handle*)>(dlsym(found, "cublasCreate_v2"));
  destroy_ = reinterpret_cast<decltype(destroy_)>(dlsym(found, "cublasDestroy_v2"));
  stream_ = reinterpret_cast<decltype(stream_)>(dlsym(found, "cublasSetStream_v2"));
  gemm_ = reinterpret_cast<decltype(gemm_)>(dlsym(found, "cublasGemmEx"));
  if (create == nullptr || destroy_ == nullptr || stream_ == nullptr || gemm_ == nullptr) throw broken("it is too old");
  if (const int code = create(&handle_); code != 0) throw broken("it does not start (" + std::to_string(code) + ")");
}

Bare::~Bare() { destroy_(handle_); }

void Bare::call(const Problem& problem, const void* a, const void* b, void* c, gpu::Handle stream) const {
  const Types types = types_of(problem.format);
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  const int one_i = 1, zero_i = 0;
  const void* alpha = problem.format == kF64 ? static_cast<const void*>(&one) : &one_f;
  const void* beta = problem.format == kF64 ? static_cast<const void*>(&zero) : &zero_f;
  if (problem.format == kI8) {
    alpha = &one_i;
    beta = &zero_i;
  }
  const auto n = static_cast<int>(problem.n);
  constexpr int kDefaultAlgorithm = -1;
  stream_(handle_, stream);
  const int code = gemm_(handle_, problem.turned() ? 1 : 0, 0, n, n, n, alpha, a, types.in, n, b, types.in, n, beta, c,
                         types.out, n, types.compute, kDefaultAlgorithm);
  if (code != 0) throw broken("cublasGemmEx (" + std::to_string(code) + ")");
}

}  // namespace shakedown::gpu_gemm
