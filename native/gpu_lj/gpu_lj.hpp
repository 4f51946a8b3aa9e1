// gpu_lj: the fluid of native/lj on GPUs. This is the backend; the fluid, its checks and the story of a measurement are
// native/lj's own. README.md says how the number is made.
#pragma once

#include <memory>

#include "gpu/gpu.hpp"
#include "lj/lj.hpp"

namespace shakedown::gpu_lj {

extern const gpu::Module kModule;

/// A fluid on one device. Its calls throw gpu::Failure where the device fails.
class Fluid : public lj::Backend {
 public:
  /// Threads that share a particle: 1, 2, 4 or 8.
  virtual void set_lanes(int lanes) = 0;
};

struct Limits {
  std::uint32_t room = 0;     // entries of a list at first; 0: by the density. A list that has too few gets more.
  unsigned threads = 0;       // of a block; 0: as suits the device
  std::int64_t slice = 1000;  // steps of a launch: one that lasts minutes could not be ended by its user
};

/// Throws gpu::Failure (out_of_memory) where so many particles do not fit.
std::unique_ptr<Fluid> make_fluid(gpu::Device& device, lj::Precision precision, const lj::Physics& physics,
                                  std::size_t particles, const Limits& limits = {});

}  // namespace shakedown::gpu_lj
