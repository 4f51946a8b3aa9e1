// What kernels are told beyond hpl_gpu's structures: plain, laid out alike by the compilers of the host and of the
// device (C++17).
#pragma once

#include "hpl_gpu/tasks.hpp"

namespace shakedown::hpl_mxp {

using hpl_gpu::Index;
using hpl_gpu::Part;

inline constexpr int kBase = 32;          // columns that one kernel factors: a warp's lanes
inline constexpr int kMostThreads = 512;  // of a block of the triangles' kernels
inline constexpr int kMostBlock = 4096;   // NB: a block of a vector stays in shared memory
inline constexpr int kPadding = 32;       // leading dimensions of what travels

/// The format of the products' factors.
enum class Precision { f16, bf16 };

/// 32 columns and rows of a diagonal block of order `order`: what is factored is read from `a` and written to `lu`, so
/// that every block of the grid can factor the same 32 x 32 without waiting for the others.
struct BaseTask {
  const float* a = nullptr;
  Index lda = 0;
  float* lu = nullptr;
  Index ldlu = 0;
  int order = 0, from = 0, width = 0;
};

}  // namespace shakedown::hpl_mxp
