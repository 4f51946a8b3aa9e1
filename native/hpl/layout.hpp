// Block-cyclic distribution: which rank of a process row or column has which index, and where.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef __CUDACC__  // native/hpl_gpu's kernels count in the same way
#define HPL_BOTH __host__ __device__
#else
#define HPL_BOTH
#endif

namespace shakedown::hpl {

using Index = std::int64_t;  // N * N does not fit 32 bits from N = 46,341 on

/// Indices 0, 1, ... dealt in blocks to `parts` parts in turn, the first block to part 0.
struct Cyclic {
  Index block = 1;
  int parts = 1;

  [[nodiscard]] HPL_BOTH int owner(Index global) const { return static_cast<int>(global / block % parts); }
  /// Where an index lies on its owner.
  [[nodiscard]] HPL_BOTH Index local(Index global) const { return global / block / parts * block + global % block; }
  /// The index that lies at `local` on `part`.
  [[nodiscard]] HPL_BOTH Index global(Index local, int part) const {
    return (local / block * parts + part) * block + local % block;
  }
  /// How many of the indices below `end` `part` has; so also where the first index from `end` on lies.
  [[nodiscard]] Index count(Index end, int part) const {
    const Index whole = end / block;
    const Index turn = whole % parts;
    return whole / parts * block + (part < turn ? block : part == turn ? end % block : 0);
  }
};

inline Index round_up(Index value, Index step) { return (value + step - 1) / step * step; }

/// A leading dimension for columns or rows of `length` doubles: whole cache lines, and an odd number of them, so that
/// what lies one above the other does not fall into the same sets of a cache.
inline Index padded(Index length) {
  const Index lines = (std::max<Index>(length, 1) + 7) / 8;
  return 8 * (lines | 1);
}

}  // namespace shakedown::hpl
