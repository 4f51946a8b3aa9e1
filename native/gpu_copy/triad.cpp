// The triad of SHOC (Danalis et al., GPGPU 2010, level 1): C = A + s B where all three lie in the host's memory. Blocks
// go to the device, are worked on and come back; two streams take turns, so that one moves while the other computes.
#include <array>

#include "common/memory.hpp"
#include "gpu_copy.hpp"

namespace shakedown::gpu_copy {
namespace {

constexpr float kScalar = 3;

float a_at(std::size_t i) { return static_cast<float>(i % 1024); }
float b_at(std::size_t i) { return static_cast<float>(i % 509 * 7 % 509); }

/// One stream with its block of each array.
struct Lane {
  Lane(gpu::Device& device, std::size_t block) : stream(device), a(device, block), b(device, block), c(device, block) {}
  gpu::Stream stream;
  gpu::Array<float> a, b, c;
};

struct Arrays {
  Arrays(gpu::Device& device, std::size_t count)
      : a(device, count, gpu::Memory::pinned),
        b(device, count, gpu::Memory::pinned),
        c(device, count, gpu::Memory::pinned) {
    for (std::size_t i = 0; i < count; ++i) {
      a.data()[i] = a_at(i);
      b.data()[i] = b_at(i);
    }
  }
  gpu::Array<float> a, b, c;
};

void measure_block(Emitter& emitter, gpu::Device& device, const Arrays& arrays, std::size_t block,
                   const Options& options) {
  const gpu::Kernel<const float*, const float*, float*, float, std::size_t> triad(device, kModule, "triad");
  std::array<Lane, 2> lanes{Lane(device, block), Lane(device, block)};
  const gpu::Event ready(device), done(device);
  const std::size_t count = arrays.a.size();
  for (std::size_t i = 0; i < count; ++i) arrays.c.data()[i] = -1;
  const auto work = [&] {
    ready.record(lanes[0].stream);
    device.await(lanes[1].stream, ready);
    for (std::size_t begin = 0, turn = 0; begin < count; begin += block, ++turn) {
      const Lane& lane = lanes[turn % 2];
      const std::size_t part = std::min(block, count - begin), bytes = part * sizeof(float);
      device.copy(lane.a.data(), arrays.a.data() + begin, bytes, lane.stream);
      device.copy(lane.b.data(), arrays.b.data() + begin, bytes, lane.stream);
      const auto blocks = static_cast<unsigned>(std::min<std::size_t>((part + 255) / 256, 4096));
      triad({.blocks = blocks, .threads = 256}, lane.stream, lane.a.data(), lane.b.data(), lane.c.data(), kScalar,
            part);
      device.copy(arrays.c.data() + begin, lane.c.data(), bytes, lane.stream);
    }
    done.record(lanes[1].stream);
    device.await(lanes[0].stream, done);
  };
  const std::string label = "triad from the host, blocks of " + show_bytes(block * sizeof(float));
  gpu::Samples samples;
  {
    const PhaseMark mark(emitter, "measure", label);
    samples = gpu::sample(lanes[0].stream, options.timing, work);
  }
  Case series = gpu::case_of("triad", samples);
  gpu::name_device(series.params, device.info());
  series.params.add("block_bytes", block * sizeof(float)).add("array_bytes", arrays.a.bytes());
  const double elements = static_cast<double>(count) * static_cast<double>(samples.calls);
  series.work.add("bytes", 3 * sizeof(float) * elements).add("flop", 2 * elements);
  const PhaseMark mark(emitter, "verify", label);
  if (options.spoil) arrays.c.data()[count / 2] += 1;
  double wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += arrays.c.data()[i] != a_at(i) + kScalar * b_at(i) ? 1 : 0;
  emit(emitter, options, series, wrong, "wrong elements");
}

}  // namespace

void measure_triad(Emitter& emitter, gpu::Device& device, const Options& options, gpu::LeftOut& left_out) {
  if (options.near) go_near(emitter, device.info());
  const auto each = static_cast<std::size_t>(options.triad_bytes);
  if (!has_room(device, {.on_device = 0, .on_host = 3 * each}, "the triad of " + show_bytes(each), left_out)) return;
  const Arrays arrays(device, each / sizeof(float));
  for (const auto bytes : options.blocks) {
    const auto block = static_cast<std::size_t>(bytes) / sizeof(float);
    const std::string what = "the triad in blocks of " + show_bytes(block * sizeof(float));
    if (block > arrays.a.size()) {
      left_out.add(what + " is more than its arrays of " + show_bytes(each), "name larger --triad-bytes");
      continue;
    }
    if (!has_room(device, {.on_device = 6 * block * sizeof(float), .on_host = 0}, what, left_out)) continue;
    measure_block(emitter, device, arrays, block, options);
    left_out.measured();
  }
}

}  // namespace shakedown::gpu_copy
