// One GPU as a device of a burn-in, through native/gpu's interface.
#pragma once

#include "burnin.hpp"
#include "gpu/gpu.hpp"

namespace shakedown::burnin {

extern const gpu::Module kModule;

struct GpuOptions {
  gpu::Choice choice;
  int index = 0;                   // of all in the order of the bus; without `pci` of CUDA_VISIBLE_DEVICES
  std::string pci;                 // that it must have; empty: any
  std::int64_t order = 4096;       // of the matrices
  std::uint64_t memory_bytes = 0;  // for the patterns; 0: none
  bool most_memory = true;         // nearly all that is left
};
std::unique_ptr<Device> open_gpu(const GpuOptions& options);

}  // namespace shakedown::burnin
