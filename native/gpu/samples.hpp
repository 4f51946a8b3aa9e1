// Time a piece of work on a device: samples between two events, each long against the clock's half microsecond.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "common/clock.hpp"
#include "common/emit.hpp"
#include "gpu.hpp"

namespace shakedown::gpu {

struct Timing {
  std::int64_t samples = 10;  // at least so many
  double seconds = 0;         // and for at least so long
  double sample_s = 2e-3;     // one sample is one call, or as many as last so long
  double warm_s = 0.1;        // clocks have risen after this
  std::int64_t calls = 0;     // in each sample; 0: as many as last sample_s
};

struct Samples {
  std::vector<double> seconds;
  std::int64_t calls = 1;  // in each sample
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// What --samples, --seconds and --sample-ms say.
inline Timing read_timing(Args& args, Timing timing = {}) {
  timing.samples = args.integer("samples", timing.samples, 1, "at least so many samples of each case");
  timing.seconds = args.real("seconds", timing.seconds, 0, "repeat each case for at least so many seconds");
  timing.sample_s =
      1e-3 * args.real("sample-ms", 1e3 * timing.sample_s, 0, "a sample is one call, or as many as last so many ms");
  timing.warm_s = 1e-3 * args.real("warm-ms", 1e3 * timing.warm_s, 0, "warm up each case for so many ms");
  return timing;
}

/// `work` puts one call into the stream and returns. Past 10,000 samples they are joined in pairs, so that hours take
/// no more memory than seconds and each still did the same work.
inline Samples sample(const Stream& stream, const Timing& timing, const std::function<void()>& work) {
  Device& device = stream.device();
  const Event begin(device), end(device);
  const auto timed = [&](std::int64_t calls) {
    begin.record(stream);
    for (std::int64_t i = 0; i < calls; ++i) work();
    end.record(stream);
    return begin.seconds_until(end);
  };
  Samples result;
  double once = timed(1);
  for (const double start = now_s(); now_s() - start < timing.warm_s;) {
    const auto calls = std::clamp<std::int64_t>(std::llround(timing.sample_s / std::max(once, 1e-7)), 1, 1 << 16);
    once = timed(calls) / static_cast<double>(calls);
  }
  result.calls = timing.calls > 0 ? timing.calls
                                  : std::clamp<std::int64_t>(
                                        std::llround(std::ceil(timing.sample_s / std::max(once, 1e-7))), 1, 1 << 16);
  result.begin_ns = unix_ns();
  const double start = now_s();
  const auto whole = [&] {
    return static_cast<std::int64_t>(result.seconds.size()) >= timing.samples && now_s() - start >= timing.seconds;
  };
  while (!whole()) {
    result.seconds.push_back(timed(result.calls));
    if (result.seconds.size() < 10'000) continue;
    for (std::size_t i = 0; i < result.seconds.size() / 2; ++i)
      result.seconds[i] = result.seconds[2 * i] + result.seconds[2 * i + 1];
    result.seconds.resize(result.seconds.size() / 2);
    result.calls *= 2;
  }
  result.end_ns = unix_ns();
  return result;
}

/// A case of these samples; the caller adds params and work, each for one sample.
inline Case case_of(const std::string& kernel, const Samples& samples) {
  Case series;
  series.kernel = kernel;
  series.seconds = samples.seconds;
  series.begin_ns = samples.begin_ns;
  series.end_ns = samples.end_ns;
  return series;
}

}  // namespace shakedown::gpu
