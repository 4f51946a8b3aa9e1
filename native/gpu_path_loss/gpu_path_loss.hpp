// gpu_path_loss: the losses of all pairs of radios on GPUs, by the Irregular Terrain Model of native/radio. This is the
// backend and one device's cases; terrain, radios and the check are those of native/path_loss. README.md says how the
// number is made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/program.hpp"
#include "gpu/samples.hpp"
#include "path_loss/course.hpp"

namespace shakedown::gpu_path_loss {

using radio::Precision;

extern const gpu::Module kModule;

/// What all links of a calculation have in common. `ground` must outlive what is made of it.
struct Setup {
  const radio::Ground& ground;
  double step_m;  // between the crossings of its grid
  radio::Setting setting;
  double antenna_m;  // of every radio, above ground
  int points;        // of a profile, with both ends
  Precision precision;
};

/// The losses of all pairs on one device: rows of the upper triangle one behind the other. Work goes into stream();
/// its calls throw gpu::Failure where the device fails.
class Losses {
 public:
  virtual ~Losses() = default;
  /// Where all radios stand.
  virtual void place(const radio::Radios& radios) = 0;
  /// Those of these numbers stand elsewhere: find_moved() finds their links, with each other too.
  virtual void move(const radio::Radios& radios, std::span<const std::uint32_t> moved) = 0;
  virtual void find_all() = 0;
  virtual void find_moved() = 0;
  [[nodiscard]] virtual std::vector<float> fetch_db() = 0;
  [[nodiscard]] virtual const gpu::Stream& stream() const = 0;
  [[nodiscard]] virtual Object facts() const = 0;  // how the kernel is launched
};

/// Throws gpu::Failure: out_of_memory where so many radios, or a profile of so many points, do not fit.
std::unique_ptr<Losses> make_losses(gpu::Device& device, const Setup& setup, std::size_t radios);

/// Numbers of radios in their order along a curve that stays near where it is, Hilbert's.
std::vector<std::uint32_t> along_a_curve(const radio::Radios& radios);

struct Options {
  gpu::Choice choice;
  gpu::Timing timing;
  radio::Course course;
};

/// Every case on one device. One that does not fit is told, the others are measured.
void measure(Emitter& emitter, gpu::Device& device, const Options& options, const radio::Ground& ground);

}  // namespace shakedown::gpu_path_loss
