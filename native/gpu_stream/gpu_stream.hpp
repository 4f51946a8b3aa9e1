// STREAM on devices: the kernels with their host equivalents, and one size of arrays measured and checked.
#pragma once

#include <string>
#include <vector>

#include "gpu/program.hpp"
#include "gpu/samples.hpp"

namespace shakedown::gpu_stream {

struct Options {
  gpu::Choice choice;
  gpu::Timing timing;
  std::vector<std::int64_t> sizes;   // bytes of one array
  std::vector<std::string> kernels;  // copy, scale, add, triad, memcpy
  std::string shape;                 // auto, or one of kShapes
  std::int64_t break_element = -1;   // of what was written, to see the check fail
  bool verify = true;
};

extern const gpu::Module kModule;
constexpr const char* kKernels[] = {"copy", "scale", "add", "triad"};
constexpr const char* kShapes[] = {"u1", "u2", "u4", "u1s", "u2s", "u4s"};

/// Turns of a thread in a shape: the digit.
unsigned turns_of(const std::string& shape);
/// Arrays that a kernel touches: 2 for copy and scale, 3 for add and triad.
std::size_t arrays_of(const std::string& kernel);

/// Measure every kernel and size on one device.
void measure(Emitter& emitter, gpu::Device& device, const Options& options);

}  // namespace shakedown::gpu_stream
