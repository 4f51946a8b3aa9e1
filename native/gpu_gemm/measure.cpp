// One device: for each format, order and kind of data the samples, the conditions under which they were taken, the
// check.
#include <algorithm>
#include <optional>
#include <utility>

#include "common/memory.hpp"
#include "gpu/watch.hpp"
#include "gpu_gemm.hpp"

namespace shakedown::gpu_gemm {
namespace {

constexpr std::uint64_t kA = 1, kB = 2;               // seeds, as reference.cpp takes them
constexpr std::size_t kChunk = std::size_t{1} << 26;  // bytes of C that travel at a time

/// The three matrices of one order and format.
class Matrices {
 public:
  Matrices(gpu::Device& device, const Problem& problem)
      : device_(device),
        problem_(problem),
        stream_(device),
        a_(device, cells() * static_cast<std::size_t>(width(problem.format))),
        b_(device, cells() * static_cast<std::size_t>(width(problem.format))),
        c_(device, cells() * static_cast<std::size_t>(result_width(problem.format))),
        fill_(device, kModule, "fill") {}

  /// At most 2^63: orders near 2^31 would else be more bytes than a number of 64 bits holds.
  static std::size_t bytes_of(const Problem& problem) {
    const auto each =
        2 * static_cast<std::size_t>(width(problem.format)) + static_cast<std::size_t>(result_width(problem.format));
    constexpr std::size_t kMost = std::size_t{1} << 63;
    return problem.n > kMost / each / problem.n ? kMost : problem.n * problem.n * each;
  }

  /// Entries of A and B; C is NaN (integers: -1) until it is written.
  void prepare(int data) {
    problem_.data = data;
    const gpu::Grid grid{.blocks = 4096, .threads = 256};
    fill_(grid, stream_, a_.data(), problem_.format, data, kA, problem_.n, problem_.turned() ? 1 : 0);
    fill_(grid, stream_, b_.data(), problem_.format, data, kB, problem_.n, 0);
    device_.fill(c_.data(), 0xff, c_.bytes(), stream_);
    stream_.wait();
  }

  void multiply() {
    const auto n = static_cast<std::int64_t>(problem_.n);
    device_.blas().gemm({.format = static_cast<gpu::Format>(problem_.format),
                         .trans_a = problem_.turned() ? 'T' : 'N',
                         .trans_b = 'N',
                         .m = n,
                         .n = n,
                         .k = n,
                         .a = a_.data(),
                         .lda = n,
                         .b = b_.data(),
                         .ldb = n,
                         .c = c_.data(),
                         .ldc = n},
                        stream_);
  }

  void multiply_bare(const Bare& bare) const { bare.call(problem_, a_.data(), b_.data(), c_.data(), stream_); }

  Residual check(const Options& options) {
    if (options.spoil) device_.fill(c_.data() + c_.bytes() / 2, 0, std::min<std::size_t>(c_.bytes() / 2, 256), stream_);
    Reference reference(problem_, static_cast<std::size_t>(options.rows));
    const std::size_t column = problem_.n * static_cast<std::size_t>(result_width(problem_.format));
    const std::size_t columns = std::clamp<std::size_t>(kChunk / column, 1, problem_.n);
    const gpu::Array<unsigned char> part(device_, columns * column, gpu::Memory::pinned);
    for (std::size_t begin = 0; begin < problem_.n; begin += columns) {
      const std::size_t end = std::min(begin + columns, problem_.n);
      device_.copy(part.data(), c_.data() + begin * column, (end - begin) * column, stream_);
      stream_.wait();
      reference.look(part.data(), begin, end);
    }
    return {reference.residual(), reference.limit(), reference.kind()};
  }

  [[nodiscard]] const gpu::Stream& stream() const { return stream_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  [[nodiscard]] std::size_t cells() const { return problem_.n * problem_.n; }

  gpu::Device& device_;
  Problem problem_;
  gpu::Stream stream_;
  gpu::Array<unsigned char> a_, b_, c_;
  gpu::Kernel<void*, int, int, unsigned long long, std::size_t, int> fill_;
};

void name_case(Object& params, const gpu::Device& device, const Problem& problem) {
  gpu::name_device(params, device.info());
  params.add("n", problem.n).add("data", kData[problem.data]);
}

/// Clock and power as a case of its own: what explains a difference between kinds of data.
void emit_conditions(Emitter& emitter, const gpu::Device& device, const Problem& problem, const gpu::Conditions& seen,
                     const gpu::Samples& samples) {
  if (seen.readings == 0) return;
  Case series;
  series.kernel = "conditions";
  name_case(series.params, device, problem);
  series.params.add("format", kFormats[problem.format]);
  series.work.add("hertz", seen.clock_hz).add("watts", seen.power_w).add("celsius", seen.temperature_c);
  series.work.add("readings", seen.readings).add("reasons", seen.reasons);
  series.begin_ns = samples.begin_ns;
  series.end_ns = samples.end_ns;
  emitter.series(series, nullptr);
}

void add_to(gpu::Samples& all, const gpu::Samples& more) {
  all.seconds.insert(all.seconds.end(), more.seconds.begin(), more.seconds.end());
  all.begin_ns = all.begin_ns == 0 ? more.begin_ns : all.begin_ns;
  all.end_ns = more.end_ns;
  all.calls = more.calls;
}

Case product_case(const std::string& kernel, const gpu::Device& device, const Problem& problem,
                  const gpu::Samples& samples) {
  Case series = gpu::case_of(kernel, samples);
  name_case(series.params, device, problem);
  series.work.add("flop", problem.flop() * static_cast<double>(samples.calls)).add("calls", samples.calls);
  return series;
}

/// Ours and cuBLAS alone by turns, so that neither has the cooler device; each sample the same number of calls.
void measure_beside(Emitter& emitter, const gpu::Device& device, Matrices& matrices, const Options& options) {
  constexpr int kTurns = 5;
  const Problem& problem = matrices.problem();
  const Bare bare(options.choice.cublas);
  gpu::Timing timing = options.timing;
  timing.samples = std::max<std::int64_t>(1, timing.samples / kTurns);
  timing.seconds /= kTurns;
  gpu::Samples ours, theirs;
  for (int turn = 0; turn < kTurns; ++turn) {
    add_to(ours, gpu::sample(matrices.stream(), timing, [&] { matrices.multiply(); }));
    timing.calls = ours.calls;
    timing.warm_s = options.timing.warm_s / kTurns;
    add_to(theirs, gpu::sample(matrices.stream(), timing, [&] { matrices.multiply_bare(bare); }));
  }
  for (auto& [kernel, samples] : {std::pair{"beside", &ours}, std::pair{"bare", &theirs}}) {
    Case series = product_case(kernel, device, problem, *samples);
    series.params.add("format", kFormats[problem.format]);
    emitter.series(series, nullptr);
  }
}

void measure_case(Emitter& emitter, gpu::Device& device, Matrices& matrices, int data, const Options& options) {
  matrices.prepare(data);
  const Problem& problem = matrices.problem();
  const std::string label =
      std::string(kFormats[problem.format]) + ' ' + std::to_string(problem.n) + ", " + kData[data];
  gpu::Samples samples;
  gpu::Conditions seen;
  {
    const PhaseMark mark(emitter, "measure", label);
    gpu::Watch watch(device.info(), options.nvml);
    samples = gpu::sample(matrices.stream(), options.timing, [&] { matrices.multiply(); });
    seen = watch.finish();
  }
  const Case series = product_case(std::string("gemm_") + kFormats[problem.format], device, problem, samples);
  emit_conditions(emitter, device, problem, seen, samples);
  if (options.verify) {
    const PhaseMark mark(emitter, "verify", label);
    const Residual residual = matrices.check(options);
    emitter.series(series, &residual);
  } else {
    emitter.series(series, nullptr);
  }
  if (options.bare && data == kRandom && device.info().backend == "cuda" && Bare::knows(problem.format)) {
    const PhaseMark mark(emitter, "measure", label + ", beside cuBLAS alone");
    measure_beside(emitter, device, matrices, options);
  }
}

struct Excuse {
  std::string why, advice;
  gpu::State state = gpu::State::no_library;  // what it makes of a device that has nothing else
};

/// Why a problem is not measured on a device, and what to do; empty where it is.
Excuse excuse(gpu::Device& device, const Problem& problem) {
  if (!device.blas().supports(static_cast<gpu::Format>(problem.format)))
    return {"the device or its BLAS does not have it", "name other --formats"};
  if (problem.turned() && problem.n % 16 != 0)
    return {"the order is not a multiple of 16", "name --sizes that are multiples of 16"};
  const auto bytes = Matrices::bytes_of(problem), free = device.free_bytes();
  if (bytes > gpu::usable(free))
    return {show_bytes(bytes) + " do not fit, " + show_bytes(free) + " are free", "name smaller --sizes",
            gpu::State::out_of_memory};
  return {};
}

}  // namespace

void measure(Emitter& emitter, gpu::Device& device, const Options& options) {
  Object facts;
  facts.add("blas of device " + std::to_string(device.info().index), device.blas().title());
  emitter.facts(facts);
  double done = 0;
  gpu::LeftOut left_out(emitter, device, "gpu-gemm-left-out");
  const double total = static_cast<double>(options.formats.size() * options.sizes.size());
  for (const auto& name : options.formats) {
    const auto format = static_cast<int>(std::find(std::begin(kFormats), std::end(kFormats), name) - kFormats);
    for (const auto n : options.sizes) {
      const Problem problem{.format = format, .data = kRandom, .n = static_cast<std::size_t>(n)};
      emitter.progress(done++ / total, name + ' ' + std::to_string(n));
      if (const auto [why, advice, state] = excuse(device, problem); !why.empty()) {
        left_out.add(std::string(name).append(" ").append(std::to_string(n)).append(": ").append(why), advice, state);
        continue;
      }
      Matrices matrices(device, problem);
      for (const auto& word : options.data) {
        const auto data = static_cast<int>(std::find(std::begin(kData), std::end(kData), word) - kData);
        measure_case(emitter, device, matrices, data, options);
        left_out.measured();
      }
    }
  }
  left_out.require_any();
}

}  // namespace shakedown::gpu_gemm
