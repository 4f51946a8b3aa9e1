// Products of square matrices on devices, in every format of the BLAS, with their check.
#pragma once

#include <string>
#include <vector>

#include "entries.hpp"
#include "gpu/program.hpp"
#include "gpu/samples.hpp"

namespace shakedown::gpu_gemm {

struct Options {
  gpu::Choice choice;
  gpu::Timing timing;
  std::vector<std::string> formats;  // kFormats
  std::vector<std::string> data;     // kData
  std::vector<std::int64_t> sizes;   // orders
  std::int64_t rows = 8;             // that the host computes again
  std::string nvml;
  bool bare = false;  // a loop of cuBLAS alone beside each case
  bool spoil = false;
  bool verify = true;
};

extern const gpu::Module kModule;
constexpr const char* kFormats[] = {"f64", "f32", "tf32", "bf16", "f16", "i8", "f8"};  // in the order of gpu::Format
constexpr const char* kData[] = {"random", "ones", "zeros"};

/// One product: C = op(A) op(B) of order n. The formats of 8 bits take A transposed, as the hardware does.
struct Problem {
  int format = kF64, data = kRandom;
  std::size_t n = 0;
  [[nodiscard]] bool turned() const { return format == kI8 || format == kF8; }
  [[nodiscard]] double flop() const {
    const auto order = static_cast<double>(n);
    return 2 * order * order * order;
  }
};

/// Bytes of an entry of C, and the number that stands there.
int result_width(int format);
double result_value(int format, const void* at, std::size_t place);
/// A unit of error that rounding explains, for entries of C up to `largest`; 0 for integers.
double unit_of(const Problem& problem, double largest);
constexpr double kLimit = 16;

/// What the host computes of the product: some rows of C, and C v for a vector v of random signs. Independent of the
/// device: entries are made anew from their places.
class Reference {
 public:
  Reference(const Problem& problem, std::size_t rows);
  /// Take columns [begin, end) of C, which lie one after another at `at`.
  void look(const void* at, std::size_t begin, std::size_t end);
  /// The residual after all columns were looked at; NaN where an entry is none.
  [[nodiscard]] double residual() const;
  /// "error over rounding", or for integers "difference".
  [[nodiscard]] const char* kind() const;
  [[nodiscard]] double limit() const { return problem_.format == kI8 ? 0 : kLimit; }

 private:
  Problem problem_;
  std::vector<std::size_t> rows_;
  std::vector<double> expected_;        // of the rows, column by column
  std::vector<double> product_, seen_;  // A (B v), and C v as looked at
  double worst_ = 0, largest_ = 0;
};

/// cuBLAS called by nothing but its own C functions: the peer of our own calls, on the same matrices.
class Bare {
 public:
  /// Throws Failure where the library cannot be loaded or started. The device's context must be current.
  explicit Bare(const std::string& library);
  ~Bare();
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  /// Whether it has a function for this format that takes no more than a call.
  static bool knows(int format) { return format != kF8; }
  void call(const Problem& problem, const void* a, const void* b, void* c, gpu::Handle stream) const;

 private:
  gpu::Handle handle_ = nullptr;
  int (*gemm_)(gpu::Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
               const void*, void*, int, int, int, int) = nullptr;
  int (*stream_)(gpu::Handle, gpu::Handle) = nullptr;
  int (*destroy_)(gpu::Handle) = nullptr;
};

void measure(Emitter& emitter, gpu::Device& device, const Options& options);

}  // namespace shakedown::gpu_gemm
