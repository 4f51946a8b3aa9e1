// Solving with factors block by block: a block of a vector on its way between the ranks of a process row, of a process
// column. Through the host, as a block is short.
#pragma once

#include "gpu/gpu.hpp"
#include "hpl/hpl.hpp"

namespace shakedown::hpl_gpu {

struct BlockMove {
  const hpl::Grid& grid;
  gpu::Device& device;
  const gpu::Stream& stream;
  double* host;  // pinned room for one block
};

/// Add `width` sums of all ranks of the process row, at the rank in column `root`. Waits for the stream.
void collect_block(const BlockMove& move, double* sums, hpl::Index width, int root);

/// Bring `width` numbers from the rank in row `root` to the whole process column. Waits for the stream.
void spread_block(const BlockMove& move, double* x, hpl::Index width, int root);

}  // namespace shakedown::hpl_gpu
