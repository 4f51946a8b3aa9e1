// The kernels of kernels.cu as things to call, and how large to launch them on a device.
#pragma once

#include "gpu/gpu.hpp"
#include "tasks.hpp"

namespace shakedown::hpl_gpu {

using hpl::Steps;

/// The device's code and the host backend's (kernels_host.cpp). `cuda` is empty where there was no compiler.
gpu::Module module(std::span<const unsigned char> cuda);

struct Kernels {
  Kernels(gpu::Device& device, const gpu::Module& module);

  gpu::Kernel<Part, Steps, Steps, double*, Index, Index> generate;
  gpu::Kernel<Part, Steps, Steps, const double*, double*, Index> row_sums;
  gpu::Kernel<Part, Steps, double*> column_sums;
  gpu::Kernel<const double*, Index, double*, Index, Index, int> copy;
  gpu::Kernel<BaseTask> base_shared, base_global;
  gpu::Kernel<BaseTask, double*> permute;
  gpu::Kernel<BaseTask, double*, const double*, Index, Rows> place;
  gpu::Kernel<double*, Index, Columns, Rows, const int*, double*, Index> gather;
  gpu::Kernel<double*, Index, Columns, Rows, const double*, Index> scatter;
  gpu::Kernel<const double*, Index, double*, Index, int, int> turn;
  gpu::Kernel<const double*, double*, int, Rows> reorder;
  gpu::Kernel<const double*, Index, int, const double*, double*> solve_upper;
  gpu::Kernel<const double*, Index, Index, int, const double*, double*> take_off;

  unsigned threads = 256;       // of a block of all kernels but the base panel's and the triangle's
  unsigned base_threads = 512;  // of these two
  bool device_side = true;      // false: the host backend, where what a device does at once takes turns
};

/// How a base panel of so many rows and columns is launched.
struct BaseShape {
  unsigned blocks = 1;
  Index each = 0;         // rows of a block
  bool resident = false;  // they fit its shared memory
  unsigned shared_bytes = 0;
  bool at_once = false;
};

/// What bounds it: the blocks that may be on the device at once beside the update, and a block's shared memory.
struct BaseLimits {
  unsigned blocks = 1;
  std::size_t shared_bytes = 0;
  Index rows_wanted = 512;  // of a block: fewer would only meet more often
  bool at_once = false;     // the blocks start together: see Calls::base
};

/// A block has the rows that fit its shared memory while the blocks suffice; with more rows all blocks share them and
/// they stay where they are. A pure function.
BaseShape base_shape(Index rows, int width, const BaseLimits& limits);

}  // namespace shakedown::hpl_gpu
