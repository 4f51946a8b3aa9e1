// Between the host and one device: one way, both ways at once, and how long the smallest piece of work takes.
#include <cstring>

#include "common/memory.hpp"
#include "gpu/formats.hpp"
#include "gpu_copy.hpp"

namespace shakedown::gpu_copy {
namespace {

constexpr Word kDown = 1, kUp = 2;  // seeds of what goes to the device and of what comes from it
constexpr int kRoundTrips = 100;    // of one sample of latency

/// Memory of the host, pinned or pageable, touched.
class HostWords {
 public:
  HostWords(gpu::Device& device, std::size_t bytes, bool pinned) : count_(bytes / sizeof(Word)) {
    if (pinned) {
      pinned_ = gpu::Array<Word>(device, count_, gpu::Memory::pinned);
    } else {
      pageable_ = Buffer(bytes, Pages::base);
    }
  }
  [[nodiscard]] Word* data() const { return pinned_.data() != nullptr ? pinned_.data() : pageable_.as<Word>().data(); }
  void fill(Word seed) const {
    for (std::size_t i = 0; i < count_; ++i) data()[i] = gpu::random_bits(seed, i);
  }
  void clear() const { std::memset(data(), 0, count_ * sizeof(Word)); }
  [[nodiscard]] double wrong(Word seed) const {
    double found = 0;
    for (std::size_t i = 0; i < count_; ++i) found += data()[i] != gpu::random_bits(seed, i) ? 1 : 0;
    return found;
  }

 private:
  std::size_t count_;
  gpu::Array<Word> pinned_;
  Buffer pageable_;
};

/// One size and kind of memory: a buffer each way on either side.
struct Sides {
  Sides(gpu::Device& on, std::size_t size, bool pinned)
      : device(on), bytes(size), host_down(on, size, pinned), host_up(on, size, pinned), down(on, size), up(on, size) {
    host_down.fill(kDown);
  }
  /// What goes is there, where it arrives nothing is.
  void prepare(const gpu::Stream& stream) {
    host_up.clear();
    up.fill(kUp);
    device.fill(down.data(), 0, bytes, stream);
    stream.wait();
  }
  gpu::Device& device;
  std::size_t bytes;
  HostWords host_down, host_up;
  Words down, up;
};

Case named(const gpu::Device& device, const std::string& kernel, const gpu::Samples& samples) {
  Case series = gpu::case_of(kernel, samples);
  gpu::name_device(series.params, device.info());
  return series;
}

void measure_way(Emitter& emitter, Sides& sides, const Options& options, const std::string& kernel,
                 const std::string& memory) {
  const gpu::Stream stream(sides.device), other(sides.device);
  const gpu::Event ready(sides.device), done(sides.device);
  const bool down = kernel != "d2h", up = kernel != "h2d", both = down && up;
  sides.prepare(stream);
  const auto work = [&] {
    if (both) {  // the second stream runs beside the first, from its begin to its end
      ready.record(stream);
      sides.device.await(other, ready);
    }
    if (down) sides.device.copy(sides.down.data(), sides.host_down.data(), sides.bytes, stream);
    if (up) sides.device.copy(sides.host_up.data(), sides.up.data(), sides.bytes, both ? other : stream);
    if (both) {
      done.record(other);
      sides.device.await(stream, done);
    }
  };
  const std::string label = kernel + " " + memory + ", " + show_bytes(sides.bytes);
  gpu::Samples samples;
  {
    const PhaseMark mark(emitter, "measure", label);
    samples = gpu::sample(stream, options.timing, work);
  }
  Case series = named(sides.device, kernel, samples);
  series.params.add("memory", memory).add("bytes", sides.bytes);
  series.work.add("bytes", static_cast<double>(samples.calls) * static_cast<double>(sides.bytes) * (both ? 2 : 1));
  series.work.add("copies", samples.calls * (both ? 2 : 1));
  const PhaseMark mark(emitter, "verify", label);
  if (options.spoil) down ? sides.down.spoil() : sides.host_up.clear();
  const double wrong = (down ? sides.down.wrong(kDown) : 0) + (up ? sides.host_up.wrong(kUp) : 0);
  emit(emitter, options, series, wrong, "wrong words");
}

/// Round trips of an empty kernel, and of 8 bytes there and back, by the host's clock: each is waited for.
void measure_latency(Emitter& emitter, gpu::Device& device, const Options& options) {
  const gpu::Stream stream(device);
  const gpu::Kernel<unsigned> nothing(device, kModule, "nothing");
  const gpu::Array<Word> there(device, 1), here(device, 2, gpu::Memory::pinned);
  here.data()[0] = kDown;
  here.data()[1] = 0;
  const auto launch = [&] {
    nothing({.blocks = 1, .threads = 1}, stream, 0u);
    stream.wait();
  };
  const auto echo = [&] {
    device.copy(there.data(), here.data(), sizeof(Word), stream);
    device.copy(here.data() + 1, there.data(), sizeof(Word), stream);
    stream.wait();
  };
  const PhaseMark mark(emitter, "measure", "latency");
  for (const bool copies : {false, true}) {
    gpu::Samples samples;
    const auto trips = [&] {
      for (int i = 0; i < kRoundTrips; ++i) copies ? echo() : launch();
    };
    trips();
    samples.begin_ns = unix_ns();
    while (static_cast<std::int64_t>(samples.seconds.size()) < options.timing.samples) {
      const double begin = now_s();
      trips();
      samples.seconds.push_back(now_s() - begin);
    }
    samples.end_ns = unix_ns();
    Case series = named(device, copies ? "echo" : "launch", samples);
    series.work.add("trips", kRoundTrips);
    if (options.spoil) here.data()[1] = 0;
    emit(emitter, options, series, copies && here.data()[1] != kDown ? 1 : 0, "wrong words");
  }
}

}  // namespace

void measure_host(Emitter& emitter, gpu::Device& device, const Options& options, gpu::LeftOut& left_out) {
  if (options.near) go_near(emitter, device.info());
  if (asked(options.kernels, "latency")) {
    measure_latency(emitter, device, options);
    left_out.measured();
  }
  const bool any =
      asked(options.kernels, "h2d") || asked(options.kernels, "d2h") || asked(options.kernels, "bidirectional");
  if (!any) return;
  for (const auto& memory : options.memory) {
    for (const auto size : options.sizes) {
      const std::size_t bytes = static_cast<std::size_t>(size) / sizeof(Word) * sizeof(Word);
      const std::string what = std::string("copies of ").append(show_bytes(bytes)).append(", ").append(memory);
      if (!has_room(device, {.on_device = 2 * bytes, .on_host = 2 * bytes}, what, left_out)) continue;
      Sides sides(device, bytes, memory == "pinned");
      left_out.measured();
      for (const char* kernel : {"h2d", "d2h", "bidirectional"}) {
        if (asked(options.kernels, kernel)) measure_way(emitter, sides, options, kernel, memory);
      }
    }
  }
}

}  // namespace shakedown::gpu_copy
