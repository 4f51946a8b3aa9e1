// All pairs on devices: a backend of native/nbody over native/gpu, and cases on one device or on all of them at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/program.hpp"
#include "nbody/session.hpp"

namespace shakedown::gpu_nbody {

using nbody::Precision;

extern const gpu::Module kModule;

/// A loop that the kernels were compiled for: "r4u8", 4 targets of a thread in registers, 8 steps written out.
struct Shape {
  const char* word;
  unsigned rows;
};
constexpr Shape kSingle[] = {{"r2u8", 2}, {"r4u4", 4}, {"r4u8", 4}, {"r6u4", 6}, {"r8u2", 8}};
constexpr Shape kDouble[] = {{"r1u8", 1}, {"r2u4", 2}, {"r4u4", 4}};
/// Those of a precision that a word means: one, all of them for "auto", or none.
std::vector<Shape> shapes_of(const std::string& word, Precision precision);

/// How the sources are divided: `parts` blocks beside each other for the same targets, each taking `each` tiles.
struct Split {
  unsigned parts = 1, each = 1;
};
/// The division that needs the fewest rounds of tiles where so many blocks of targets, tiles, and blocks on the device
/// at once are. `most`: parts that there is memory for. A pure function.
Split split(unsigned blocks, unsigned tiles, unsigned resident, unsigned most);

/// Bytes of the device for so many bodies, at most.
std::uint64_t device_bytes(std::size_t bodies, Precision precision);

struct GpuBackend : nbody::Backend {
  /// What was chosen, for a person: "r4u8, 8 parts".
  [[nodiscard]] virtual std::string shape() const = 0;
};
/// `device` must outlive it. Tries the shapes where there are several.
std::unique_ptr<GpuBackend> make_gpu(gpu::Device& device, Precision precision, const nbody::Physics& physics,
                                     std::size_t bodies, const std::string& shape);

struct Options {
  gpu::Choice choice;
  nbody::Course course;
  std::string shape = "auto";
  std::string nvml;
  bool together = false;
};
/// All cases on these devices, which work at the same time; returns whether none of them failed and each has a case at
/// least. One that fails is told and left out from then on; for want of memory, from that case alone.
bool measure_group(Emitter& emitter, std::vector<gpu::Device*> devices, const Options& options);

}  // namespace shakedown::gpu_nbody
