// The kernels of kernels.cu as things to call.
#pragma once

#include "gpu/gpu.hpp"
#include "tasks.hpp"

namespace shakedown::hpl_mxp {

using hpl::Steps;

/// The device's code and the host backend's (kernels_host.cpp). `cuda` is empty where there was no compiler.
gpu::Module module(std::span<const unsigned char> cuda);

struct Kernels {
  Kernels(gpu::Device& device, const gpu::Module& module);

  gpu::Kernel<Part, Steps, Steps, float*, Index, Index> generate;
  gpu::Kernel<Part, const double*, float*, Index> diagonal;
  gpu::Kernel<Part, Steps, Steps, const double*, double*, Index> row_sums;
  gpu::Kernel<const double*, int, Index, double*> join;
  gpu::Kernel<const float*, Index, float*, Index, Index, int> copy;
  gpu::Kernel<const float*, Index, std::uint16_t*, Index, Index, Index, float, int> narrow;
  gpu::Kernel<BaseTask> base;
  gpu::Kernel<const float*, Index, int, const double*, double*> solve_lower, solve_upper;
  gpu::Kernel<const float*, Index, Index, int, const double*, double*> take_off;

  unsigned threads = 256;           // of a block of all kernels but the triangles'
  unsigned triangle_threads = 512;  // of these
};

}  // namespace shakedown::hpl_mxp
