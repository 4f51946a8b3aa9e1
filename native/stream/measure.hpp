// Timing: passes from a barrier to the last thread's end, the choice of the fastest loop, and series of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "common/clock.hpp"

namespace shakedown::stream {

/// Runs kernels on a team and keeps what the threads read.
class Runner {
 public:
  Runner(Team& team, Arrays& arrays) : team_(team), arrays_(arrays), marks_(static_cast<std::size_t>(team.size())) {
    team.run([&](int thread) { marks_[static_cast<std::size_t>(thread)].sum = arrays.chunk_sum(thread); });
  }

  /// Seconds of `passes` passes over the arrays, from the first thread past the barrier to the last thread's end.
  double pass(Kernel kernel, Loop loop, std::int64_t passes) {
    return timed([&](int thread) {
      const auto [begin, count] = arrays_.chunk(thread);
      repeat(kernel, loop, begin, count, passes, &marks_[static_cast<std::size_t>(thread)]);
    });
  }

  /// Seconds of one pass over slice `index` (of at most `slice` elements) of every thread's chunk.
  double pass_slice(Kernel kernel, Loop loop, std::size_t slice, std::size_t index, std::int64_t passes) {
    return timed([&](int thread) {
      const auto [begin, count] = arrays_.chunk(thread);
      const std::size_t length = std::min(slice, count);
      const std::size_t at = index % std::max<std::size_t>(count / std::max<std::size_t>(length, 1), 1) * length;
      repeat(kernel, loop, begin + at, length, passes, nullptr);
    });
  }

  /// The largest relative error of any sum that `read` returned; 0 where nothing was read.
  [[nodiscard]] double sum_error() const {
    double error = 0;
    for (const auto& mark : marks_) error = worse(error, mark.sum > 0 ? mark.error / mark.sum : mark.error);
    return error;
  }
  void clear_errors() {
    for (auto& mark : marks_) mark.error = 0;
  }

 private:
  struct alignas(128) Mark {
    std::int64_t begin_ns = 0, end_ns = 0;
    double sum = 0;    // what the thread's chunk of array a sums up to
    double error = 0;  // the largest of the sums that were returned, absolute
  };

  void repeat(Kernel kernel, Loop loop, std::size_t begin, std::size_t count, std::int64_t passes, Mark* mark) {
    const auto& facts = facts_of(kernel);
    const auto from = [&](int array) { return array < 0 ? nullptr : arrays_.at(array) + begin; };
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const double sum = loop(from(facts.out), from(facts.x), from(facts.y), kScalar, count);
      if (kernel == Kernel::read && mark != nullptr) mark->error = worse(mark->error, std::fabs(sum - mark->sum));
    }
  }

  template <class Body>
  double timed(Body body) {
    team_.run([&](int thread) {
      auto& mark = marks_[static_cast<std::size_t>(thread)];
      team_.barrier();
      mark.begin_ns = monotonic_ns();
      body(thread);
      mark.end_ns = monotonic_ns();
    });
    std::int64_t begin = marks_[0].begin_ns, end = marks_[0].end_ns;
    for (const auto& mark : marks_) {
      begin = std::min(begin, mark.begin_ns);
      end = std::max(end, mark.end_ns);
    }
    return static_cast<double>(end - begin) * 1e-9;
  }

  Team& team_;
  Arrays& arrays_;
  std::vector<Mark> marks_;
};

/// The value below which a quarter lies: a disturbance only ever adds time, so it says more of a loop than the median.
inline double lower_quartile(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// One candidate and the times of its trials.
struct Trial {
  const LoopChoice* choice;
  std::vector<double> seconds;
};

/// The fastest of the candidates here: short trials in turn, in rounds so that a disturbance meets all, on slices that
/// move through the arrays so that nothing is left in a cache that would not be in a whole pass. Ten rounds for all,
/// then twenty for the best three; about half a second for arrays in memory.
inline const LoopChoice* fastest_loop(Runner& runner, const Arrays& arrays, Kernel kernel, LoopList candidates) {
  constexpr std::size_t kSlice = std::size_t{4} << 20;  // elements: 32 MiB of each array and thread
  constexpr double kTrialSeconds = 300e-6;              // of a trial at least
  const std::size_t chunk_bytes = arrays.chunk(0).second * sizeof(double);
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < candidates.count; ++i) {
    const auto& choice = candidates.first[i];
    if (i == 0 || choice.block_bytes * 2 <= chunk_bytes) trials.push_back({&choice, {}});
  }
  const double once = runner.pass_slice(kernel, trials[0].choice->loop, kSlice, 0, 1);
  const auto passes = static_cast<std::int64_t>(std::ceil(kTrialSeconds / std::clamp(once, 1e-7, kTrialSeconds)));
  std::size_t slice = 0;
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      for (auto& trial : trials) {
        trial.seconds.push_back(runner.pass_slice(kernel, trial.choice->loop, kSlice, ++slice, passes));
      }
    }
    std::stable_sort(trials.begin(), trials.end(), [](const auto& a, const auto& b) {
      return lower_quartile(a.seconds) < lower_quartile(b.seconds);
    });
  };
  rounds(10);
  trials.resize(std::min<std::size_t>(trials.size(), 3));
  rounds(20);
  return trials[0].choice;
}

/// How long a series goes on.
struct Budget {
  std::int64_t samples = 20;  // at least so many
  double seconds = 0;         // and at least so long
};

/// A series: each of `seconds` is the time of `passes` passes.
struct Samples {
  std::int64_t passes = 1;
  std::vector<double> seconds;
};

inline constexpr double kSampleSeconds = 2e-3;       // a sample lasts at least so long
inline constexpr std::size_t kMostSamples = 10'000;  // of a series: hours of load stay a small file

/// How many passes make a sample long enough for the clock.
inline std::int64_t passes_per_sample(Runner& runner, Kernel kernel, Loop loop) {
  std::int64_t passes = 1;
  double seconds = runner.pass(kernel, loop, passes);
  while (seconds < kSampleSeconds / 4) {
    passes *= 2;
    seconds = runner.pass(kernel, loop, passes);
  }
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(static_cast<double>(passes) * kSampleSeconds / seconds)));
}

/// Join samples two by two: half as many of twice the passes, so that all still did the same work.
inline void halve(Samples& samples) {
  std::size_t pairs = samples.seconds.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i) samples.seconds[i] = samples.seconds[2 * i] + samples.seconds[2 * i + 1];
  samples.seconds.resize(pairs);
  samples.passes *= 2;
}

/// Take samples until the budget is spent; `progress` is called between them with the fraction done. Where they grow to
/// more than kMostSamples they are joined in pairs.
inline Samples take_samples(Runner& runner, Kernel kernel, Loop loop, std::int64_t passes, const Budget& budget,
                            const std::function<void(double)>& progress) {
  Samples samples{passes, {}};
  const auto most = std::max(kMostSamples, 2 * static_cast<std::size_t>(budget.samples));
  samples.seconds.reserve(most);
  const double start = now_s();
  for (;;) {
    if (samples.seconds.size() == most) halve(samples);
    samples.seconds.push_back(runner.pass(kernel, loop, samples.passes));
    const double by_count = static_cast<double>(samples.seconds.size()) / static_cast<double>(budget.samples);
    const double by_time = budget.seconds > 0 ? (now_s() - start) / budget.seconds : 1;
    if (by_count >= 1 && by_time >= 1) return samples;
    progress(std::min({by_count, by_time, 1.0}));
  }
}

}  // namespace shakedown::stream
