// The STREAM kernels: what they compute and move, and the loops that do it in each instruction set.
#pragma once

#include <cstddef>

namespace shakedown::stream {

enum class Kernel { copy, scale, add, triad, read, write };
inline constexpr Kernel kKernels[] = {Kernel::copy,  Kernel::scale, Kernel::add,
                                      Kernel::triad, Kernel::read,  Kernel::write};

/// One kernel over arrays a, b, c (0, 1, 2) of doubles: out[i] = f(x[i], y[i]) with the scalar q.
/// The first four are McCalpin's (STREAM, https://www.cs.virginia.edu/stream/ref.html), in his arrays and his counting.
struct KernelFacts {
  const char* name;
  const char* formula;
  int out, x, y;      // index of the array, or -1 where the kernel has none
  int counted_bytes;  // per element: 8 for each array read and 8 for each array written
};
inline constexpr KernelFacts kFacts[] = {
    {"copy", "c = a", 2, 0, -1, 16},       {"scale", "b = q c", 1, 2, -1, 16},     {"add", "c = a + b", 2, 0, 1, 24},
    {"triad", "a = b + q c", 0, 1, 2, 24}, {"read", "s = sum of a", -1, 0, -1, 8}, {"write", "a = q", 0, -1, -1, 8},
};
inline constexpr const KernelFacts& facts_of(Kernel kernel) { return kFacts[static_cast<int>(kernel)]; }

/// Run a kernel once over `n` elements: n is a multiple of 8 (a line of 64 bytes), the pointers lie on lines. Returns
/// the sum for `read`, else 0. Stores are visible to other threads on return.
using Loop = double (*)(double* out, const double* x, const double* y, double q, std::size_t n);

/// One way to walk through the arrays; README.md says why there are several.
struct LoopChoice {
  const char* shape;        // its name, such as u2p1k
  std::size_t block_bytes;  // the stretch that it works on as a whole; useless on arrays of less
  Loop loop;
};

struct LoopList {
  const LoopChoice* first;
  std::size_t count;  // 0: this instruction set has no such stores
};

/// The loops of one instruction set.
struct IsaLoops {
  const char* name;          // as in common/isa.hpp
  LoopList cached[6];        // by kernel: ordinary stores
  LoopList non_temporal[6];  // by kernel: stores that go past the caches; for `read` the same as cached
};

/// Those built in, widest first.
struct IsaList {
  const IsaLoops* const* first;
  std::size_t count;
};
IsaList isas_built();

}  // namespace shakedown::stream
