// Fourier transforms on devices: what is measured, and one device measured and checked. Shapes, data, work and check
// are those of native/fft; the transforms are those of gpu/transforms.hpp.
#pragma once

#include <string>
#include <vector>

#include "fft/fft.hpp"
#include "gpu/program.hpp"
#include "gpu/samples.hpp"
#include "gpu/transforms.hpp"

namespace shakedown::gpu_fft {

struct Options {
  gpu::Choice choice;
  gpu::Timing timing;
  std::vector<fft::Shape> shapes;
  std::vector<std::int64_t> batches;  // transforms of a call; 0: as many as read `bytes`
  std::int64_t bytes = 0;
  bool in_double = false, in_single = false;
  std::int64_t seed = 1;
  std::int64_t break_point = -1;  // of what was computed, to see the check fail
  bool verify = true;
};

/// One case.
struct Setting {
  const fft::Shape* shape = nullptr;
  std::int64_t batch = 1;
  bool in_double = true;

  [[nodiscard]] gpu::TransformShape of() const { return {shape->lengths, batch, in_double}; }
  [[nodiscard]] const char* precision() const { return in_double ? "double" : "single"; }
  [[nodiscard]] std::string words() const { return std::to_string(batch) + " x " + shape->text() + ' ' + precision(); }
  /// EuroBen's: one dimension, double precision, one by one.
  [[nodiscard]] bool mod2f() const { return shape->lengths.size() == 1 && in_double && batch == 1; }
};

/// Every case in order, each once: precision by precision, shape by shape, batch by batch.
std::vector<Setting> settings(const Options& options);

/// Measure every case on one device; false where one could not be measured, which is told.
bool measure(Emitter& emitter, gpu::Device& device, const Options& options);

}  // namespace shakedown::gpu_fft
