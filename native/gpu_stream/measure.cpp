// One device: arrays, the fastest shape of each kernel, samples, check.
#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "common/memory.hpp"
#include "entries.hpp"
#include "gpu_stream.hpp"

namespace shakedown::gpu_stream {
namespace {

constexpr std::size_t kChunk = 1 << 17;  // elements that the host compares at a time
constexpr int kChunks = 16;
constexpr unsigned kThreads[] = {256, 1024};
constexpr double kTrialSeconds = 5e-3;

struct Shape {
  std::string name = kShapes[0];
  unsigned threads = kThreads[0];
};

/// The arrays of one size, and what is put to them.
class Arrays {
 public:
  using Move = gpu::Kernel<double*, double*, double*, double, std::size_t>;

  Arrays(gpu::Device& device, std::size_t count)
      : device_(device),
        stream_(device),
        count_(count),
        a_(device, count),
        b_(device, count),
        c_(device, count),
        wrong_(device, 1),
        fill_(device, kModule, "fill"),
        check_(device, kModule, "check") {}

  [[nodiscard]] const gpu::Stream& stream() const { return stream_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(double); }

  /// What the kernel reads as it should be, and NaN where it writes.
  void prepare(unsigned kernel) {
    const gpu::Grid grid{.blocks = 4096, .threads = 256};
    gpu::Array<double>* const arrays[] = {&a_, &b_, &c_};
    for (unsigned i = 0; i < 3; ++i) fill_(grid, stream_, arrays[i]->data(), i, count_);
    device_.fill(written(kernel), 0xff, bytes(), stream_);
    stream_.wait();
  }

  /// A call of the kernel in a shape, to be put into the stream again and again.
  [[nodiscard]] std::function<void()> call(unsigned kernel, const Shape& shape) {
    const Move move(device_, kModule, (std::string(kKernels[kernel]) + '_' + shape.name).c_str());
    const std::size_t pairs = count_ / 2, part = std::size_t{shape.threads} * turns_of(shape.name);
    const gpu::Grid grid{.blocks = static_cast<unsigned>((pairs + part - 1) / part), .threads = shape.threads};
    return [this, move, grid, pairs] { move(grid, stream_, a_.data(), b_.data(), c_.data(), kFactor, pairs); };
  }
  [[nodiscard]] std::function<void()> call_memcpy() {
    return [this] { device_.copy(c_.data(), a_.data(), bytes(), stream_); };
  }

  /// Damage one element of what was written.
  void spoil(unsigned kernel, std::size_t element) {
    const double value = -1;
    device_.copy(written(kernel) + std::min(element, count_ - 1), &value, sizeof value, stream_);
    stream_.wait();
  }

  /// Wrong elements: all as the device compares them, and parts that the host fetches and compares itself.
  [[nodiscard]] double wrong(unsigned kernel) {
    device_.fill(wrong_.data(), 0, wrong_.bytes(), stream_);
    check_({.blocks = 4096, .threads = 256}, stream_, written(kernel), kernel, count_, wrong_.data());
    unsigned long long found = 0;
    device_.copy(&found, wrong_.data(), sizeof found, stream_);
    stream_.wait();
    return std::max(static_cast<double>(found), seen_by_host(kernel));
  }

 private:
  double* written(unsigned kernel) { return kernel == 1 ? b_.data() : kernel == 3 ? a_.data() : c_.data(); }

  double seen_by_host(unsigned kernel) {
    std::vector<double> part(std::min(kChunk, count_));
    std::mt19937_64 random(count_);
    std::vector<std::size_t> places = {0, count_ - part.size()};
    while (places.size() < kChunks) places.push_back(random() % (count_ - part.size() + 1));
    double wrong = 0;
    for (const std::size_t place : places) {
      device_.copy(part.data(), written(kernel) + place, part.size() * sizeof(double), stream_);
      stream_.wait();
      for (std::size_t i = 0; i < part.size(); ++i) wrong += part[i] != result(kernel, place + i) ? 1 : 0;
    }
    return wrong;
  }

  gpu::Device& device_;
  gpu::Stream stream_;
  std::size_t count_;
  gpu::Array<double> a_, b_, c_;
  gpu::Array<unsigned long long> wrong_;
  gpu::Kernel<double*, unsigned, std::size_t> fill_;
  gpu::Kernel<const double*, unsigned, std::size_t, unsigned long long*> check_;
};

/// The fastest shape of a kernel: each by the least of a few calls, in turn.
Shape choose(Arrays& arrays, unsigned kernel, const Options& options) {
  std::vector<Shape> shapes;
  for (const char* name : kShapes) {
    for (const unsigned threads : kThreads) {
      if (options.shape == "auto" || options.shape == name) shapes.push_back({name, threads});
    }
  }
  double best = std::numeric_limits<double>::infinity();
  Shape chosen = shapes.front();
  for (const Shape& shape : shapes) {
    const gpu::Timing trial{.samples = 3, .seconds = 0, .sample_s = kTrialSeconds / 5, .warm_s = kTrialSeconds};
    const auto samples = gpu::sample(arrays.stream(), trial, arrays.call(kernel, shape));
    const double taken =
        *std::min_element(samples.seconds.begin(), samples.seconds.end()) / static_cast<double>(samples.calls);
    if (taken < best) {
      best = taken;
      chosen = shape;
    }
  }
  return chosen;
}

void measure_case(Emitter& emitter, const gpu::Device& device, Arrays& arrays, const std::string& name,
                  const Options& options) {
  const bool memcpy = name == "memcpy";
  const auto kernel =
      memcpy ? 0u : static_cast<unsigned>(std::find(std::begin(kKernels), std::end(kKernels), name) - kKernels);
  const std::string label = name + ", " + show_bytes(arrays.bytes());
  std::optional<Shape> shape;
  gpu::Samples samples;
  {
    const PhaseMark mark(emitter, "warmup", label);
    if (!memcpy) {
      shape = choose(arrays, kernel, options);
      Object chosen;
      chosen.add("shape of " + label + ", device " + std::to_string(device.info().index),
                 shape->name + 'x' + std::to_string(shape->threads));
      emitter.facts(chosen);
    }
    arrays.prepare(kernel);
  }
  {
    const PhaseMark mark(emitter, "measure", label);
    samples = gpu::sample(arrays.stream(), options.timing, memcpy ? arrays.call_memcpy() : arrays.call(kernel, *shape));
  }
  Case series = gpu::case_of(name, samples);
  const auto touched = static_cast<double>(arrays_of(name) * arrays.bytes());
  gpu::name_device(series.params, device.info());
  series.params.add("array_bytes", arrays.bytes());
  if (const auto level = gpu::level_of(arrays_of(name) * arrays.bytes(), device.info().l2_bytes); !level.empty())
    series.params.add("level", level);
  series.work.add("bytes", touched * static_cast<double>(samples.calls)).add("calls", samples.calls);
  if (!options.verify) return emitter.series(series, nullptr);
  const PhaseMark mark(emitter, "verify", label);
  if (options.break_element >= 0) arrays.spoil(kernel, static_cast<std::size_t>(options.break_element));
  const Residual residual{arrays.wrong(kernel), 0, "wrong elements"};
  emitter.series(series, &residual);
}

}  // namespace

unsigned turns_of(const std::string& shape) { return static_cast<unsigned>(shape[1] - '0'); }

std::size_t arrays_of(const std::string& kernel) { return kernel == "add" || kernel == "triad" ? 3 : 2; }

void measure(Emitter& emitter, gpu::Device& device, const Options& options) {
  const double total = static_cast<double>(options.sizes.size() * options.kernels.size());
  double done = 0;
  gpu::LeftOut left_out(emitter, device, "gpu-size-left-out");
  for (const auto size : options.sizes) {
    const auto bytes = static_cast<std::size_t>(size) / 16 * 16;
    if (const auto free = device.free_bytes(); bytes > gpu::usable(free) / 3) {
      left_out.add("three arrays of " + show_bytes(bytes) + " do not fit, " + show_bytes(free) + " are free",
                   "name smaller --sizes");
      continue;
    }
    Arrays arrays(device, bytes / sizeof(double));
    for (const auto& kernel : options.kernels) {
      measure_case(emitter, device, arrays, kernel, options);
      left_out.measured();
      emitter.progress(++done / total, device.info().name);
    }
  }
  left_out.require_any();
}

}  // namespace shakedown::gpu_stream
