// How often steps over few files are repeated: each is timed long enough, and all of them come to an end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/emit.hpp"

namespace shakedown::storage {

/// What is asked of every step, and how long all of them may take for it.
struct Enough {
  std::int64_t samples = 1;
  double seconds = 0;  // of all samples together

  [[nodiscard]] bool reached(std::size_t done, double spent_s) const {
    return done >= kMostSamples || (static_cast<std::int64_t>(done) >= samples && spent_s >= seconds);
  }
  /// Whether `steps` that are repeated in turn have had their time: four times what they need if each took its share.
  [[nodiscard]] bool out_of_time(std::size_t steps, double elapsed_s) const {
    return elapsed_s >= kPatience * seconds * static_cast<double>(steps);
  }
  static constexpr double kPatience = 4;
  static constexpr std::size_t kMostSamples = 10'000;
};

/// One sample of a step, from the common begin of all threads to the end of the last.
struct Sample {
  double seconds = 0;
  TimeSpan span;
};

/// What came of a step.
struct Repeated {
  std::vector<Sample> samples;
  std::uint64_t cycles = 1;  // over all files, in each sample
  double first_s = 0;        // of the very first cycle: of what no cache had seen
  double spent_s = 0;        // of all samples
};

constexpr int kInPlace = 0;

/// How the steps are done, and how long it has been: the same numbers on every rank, so that all decide alike.
struct Steps {
  /// kInPlace for those that leave the files there, so that they can be repeated alone; the others by the pair to which
  /// they belong.
  std::vector<int> pair;
  std::function<Sample(std::size_t step, std::uint64_t cycles)> run;  // so many cycles over all files
  std::function<double()> elapsed_s;
};

/// The steps in turn, again and again. Those in place take as many cycles at a time as make a sample long enough. The
/// others, which make files and remove them, make no more files than asked: they are repeated as pairs, each timed
/// apart, until each has had its seconds or the time is over.
std::vector<Repeated> repeat(const Enough& asked, const Steps& steps);

/// How many cycles may take `target_s` where so many took `seconds`: at least twice as many, at most four times.
std::uint64_t more_cycles(std::uint64_t cycles, double seconds, double target_s);

/// The numbers below `count` in an order that is another for each key, each once: by steps of one width around the
/// circle, as it must cost nothing beside a call of the kernel. Key 0: as they are.
class Turn {
 public:
  Turn(std::uint64_t count, std::uint64_t key);
  [[nodiscard]] std::uint64_t next() {
    const std::uint64_t now = at_;
    at_ = at_ >= count_ - width_ ? at_ - (count_ - width_) : at_ + width_;
    return now;
  }

 private:
  std::uint64_t count_;
  std::uint64_t width_ = 1;
  std::uint64_t at_ = 0;
};

}  // namespace shakedown::storage
