// How large the launches are that the kernels of both programs have alike.
#pragma once

#include <algorithm>

#include "gpu/gpu.hpp"
#include "tasks.hpp"

namespace shakedown::hpl_gpu::launches {

inline constexpr Index kMostY = 65535;    // blocks in a grid's second direction
inline constexpr Index kMostFlat = 4096;  // blocks of a kernel that strides
inline constexpr Index kRowsEach = 8;     // entries that a thread of the generator makes

inline unsigned number(Index value) { return static_cast<unsigned>(std::max<Index>(1, value)); }
inline Index parts(Index items, Index each) { return (items + each - 1) / each; }

/// A kernel that strides over its items.
inline gpu::Grid flat(Index items, unsigned threads) {
  return {.blocks = number(std::min(parts(items, threads), kMostFlat)), .threads = threads};
}

/// A kernel that strides over the rows, and over columns beside each other.
inline gpu::Grid by_column(Index rows, Index columns, unsigned threads) {
  gpu::Grid grid = flat(rows, threads);
  grid.blocks_y = number(std::min(columns, kMostY));
  return grid;
}

/// A thread for each row, for each of so many chunks of the columns.
inline gpu::Grid by_row(Index rows, int chunks, unsigned threads) {
  gpu::Grid grid = {.blocks = number(parts(rows, threads)), .threads = threads};
  grid.blocks_y = static_cast<unsigned>(chunks);
  return grid;
}

/// The generator: rows of a column that a block makes, and its grid.
inline Index rows_of_block(unsigned threads) { return static_cast<Index>(threads) * kRowsEach; }
inline gpu::Grid entries(const Part& part, unsigned threads) {
  return {.blocks = number(parts(part.height, rows_of_block(threads))),
          .threads = threads,
          .blocks_y = number(std::min(part.width, kMostY))};
}

}  // namespace shakedown::hpl_gpu::launches
