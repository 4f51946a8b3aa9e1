// What a device does when, from the time since the common start alone: every device of every node that was given the
// same start is in the same stage and in the same half of the same period, without a word between them. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/error.hpp"

namespace shakedown::burnin {

enum class Work { product, steps, memory };

inline const char* word(Work work) {
  return work == Work::product ? "product" : work == Work::steps ? "steps" : "memory";
}

struct Stage {
  Work work;
  std::int64_t length_ns;
};

/// One moment of the schedule.
struct Moment {
  std::int64_t cycle = 0;  // how many times all stages have been gone through
  std::size_t stage = 0;
  Work work = Work::product;
  bool busy = true;           // false in the low half of a power step
  double period_s = 0;        // of the power steps; 0 in other stages
  std::int64_t until_ns = 0;  // of the time since the start: when `busy` or the stage changes next
  std::int64_t stage_end_ns = 0;
};

class Schedule {
 public:
  /// Stages in their order, again and again. Of a stage of steps, each of `periods_s` gets an equal share.
  Schedule(std::vector<Stage> stages, const std::vector<double>& periods_s) : stages_(std::move(stages)) {
    for (const double period : periods_s) {
      if (!(period >= 0.002 && period <= 3600)) throw usage("--periods: a period is 0.002 to 3600 s");
      periods_ns_.push_back(std::llround(period * 1e9));
    }
    bool steps = false;
    for (const auto& stage : stages_) {
      if (stage.length_ns <= 0) throw usage("--stages: a stage lasts longer than nothing");
      steps = steps || stage.work == Work::steps;
      cycle_ns_ += stage.length_ns;
    }
    if (stages_.empty()) throw usage("--stages is empty", "such as product:60,steps:30,memory:30");
    if (steps && periods_ns_.empty()) throw usage("--periods is empty", "give seconds such as 1,0.1,0.01");
  }

  [[nodiscard]] Moment at(std::int64_t since_ns) const {
    Moment moment;
    moment.cycle = since_ns / cycle_ns_;
    std::int64_t within = since_ns % cycle_ns_;
    while (within >= stages_[moment.stage].length_ns) within -= stages_[moment.stage++].length_ns;
    const Stage& stage = stages_[moment.stage];
    moment.work = stage.work;
    const std::int64_t begin = since_ns - within;
    moment.stage_end_ns = moment.until_ns = begin + stage.length_ns;
    if (stage.work != Work::steps) return moment;
    const auto shares = static_cast<std::int64_t>(periods_ns_.size());
    const std::int64_t share = within * shares / stage.length_ns;
    const std::int64_t share_begin = (stage.length_ns * share + shares - 1) / shares;
    const std::int64_t share_end = (stage.length_ns * (share + 1) + shares - 1) / shares;
    const std::int64_t period = periods_ns_[static_cast<std::size_t>(share)];
    const std::int64_t phase = (within - share_begin) % period, half = period / 2;
    moment.period_s = static_cast<double>(period) * 1e-9;
    moment.busy = phase < half;
    moment.until_ns = std::min(begin + share_end, since_ns + (moment.busy ? half : period) - phase);
    return moment;
  }

  [[nodiscard]] std::int64_t cycle_ns() const { return cycle_ns_; }

 private:
  std::vector<Stage> stages_;
  std::vector<std::int64_t> periods_ns_;
  std::int64_t cycle_ns_ = 0;
};

/// "product:60,steps:30,memory:30", split at the commas.
inline std::vector<Stage> parse_stages(const std::vector<std::string>& words) {
  std::vector<Stage> stages;
  for (const auto& text : words) {
    const auto colon = text.find(':');
    const std::string name = text.substr(0, colon);
    char* end = nullptr;
    const double seconds = colon == std::string::npos ? 0 : std::strtod(text.c_str() + colon + 1, &end);
    if (end == nullptr || *end != '\0' || !(seconds > 0 && seconds < 1e7))
      throw usage("--stages: '" + text + "' is not a valid stage", "write a name and seconds, such as product:60");
    Work work = Work::product;
    if (name == word(Work::steps)) {
      work = Work::steps;
    } else if (name == word(Work::memory)) {
      work = Work::memory;
    } else if (name != word(Work::product)) {
      throw usage("--stages: unknown stage '" + name + "'", "known: product, steps, memory");
    }
    stages.push_back({work, std::llround(seconds * 1e9)});
  }
  return stages;
}

}  // namespace shakedown::burnin
