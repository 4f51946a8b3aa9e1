#include "repeats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "content.hpp"

namespace shakedown::storage {
namespace {

constexpr double kMargin = 1.1;  // above the target: times differ
constexpr double kLeast = 2;     // times as many cycles
constexpr double kMost = 10;
constexpr std::uint64_t kMostCycles = std::uint64_t{1} << 32;

void keep(Repeated& found, const Sample& sample) {
  found.samples.push_back(sample);
  found.spent_s += sample.seconds;
}

bool reached(const Enough& asked, const Repeated& one) { return asked.reached(one.samples.size(), one.spent_s); }

/// The first sample, which says how many cycles one takes. What was shorter is none.
void first_sample(const Enough& asked, const Steps& steps, std::size_t at, Repeated& found) {
  const double target_s = asked.seconds / static_cast<double>(asked.samples);
  Sample sample = steps.run(at, 1);
  found.first_s = sample.seconds;
  while (sample.seconds < target_s && found.cycles < kMostCycles) {
    found.cycles = more_cycles(found.cycles, sample.seconds, target_s);
    sample = steps.run(at, found.cycles);
  }
  keep(found, sample);
}

/// What a step in place does in a round; in the last that was asked for it takes what it still wants: the files are
/// there now.
void in_place(const Enough& asked, const Steps& steps, std::size_t at, std::int64_t round, Repeated& found) {
  if (round == 1) {
    first_sample(asked, steps, at, found);
  } else if (round <= asked.samples) {
    keep(found, steps.run(at, found.cycles));
  }
  while (round == asked.samples && !reached(asked, found)) keep(found, steps.run(at, found.cycles));
}

}  // namespace

std::uint64_t more_cycles(std::uint64_t cycles, double seconds, double target_s) {
  const double times = seconds > 0 ? kMargin * target_s / seconds : kMost;
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(cycles) * std::clamp(times, kLeast, kMost)));
}

std::vector<Repeated> repeat(const Enough& asked, const Steps& steps) {
  std::vector<Repeated> found(steps.pair.size());
  for (std::int64_t round = 1;; ++round) {
    std::set<int> wanting;  // pairs of which one is not timed long enough
    for (std::size_t at = 0; at < found.size(); ++at) {
      if (steps.pair[at] != kInPlace && (round <= asked.samples || !reached(asked, found[at])))
        wanting.insert(steps.pair[at]);
    }
    for (std::size_t at = 0; at < found.size(); ++at) {
      Repeated& one = found[at];
      if (steps.pair[at] == kInPlace) {
        in_place(asked, steps, at, round, one);
      } else if (wanting.contains(steps.pair[at])) {
        keep(one, steps.run(at, 1));
        if (round == 1) one.first_s = one.spent_s;
      }
    }
    if (round < asked.samples) continue;
    const bool enough =
        std::all_of(found.begin(), found.end(), [&](const Repeated& one) { return reached(asked, one); });
    if (enough || asked.out_of_time(found.size(), steps.elapsed_s())) return found;
  }
}

Turn::Turn(std::uint64_t count, std::uint64_t key) : count_(std::max<std::uint64_t>(count, 1)) {
  if (key == 0 || count_ < 2) {
    width_ = count_ < 2 ? count_ : 1;
    return;
  }
  at_ = mixed(key) % count_;
  width_ = 1 + mixed(at_ + key) % (count_ - 1);
  while (std::gcd(width_, count_) != 1) width_ = width_ % (count_ - 1) + 1;
}

}  // namespace shakedown::storage
