#include "figures.hpp"

#include <algorithm>
#include <cmath>

namespace shakedown::multi_pair {
namespace {

constexpr double kSlowBy = 1.1;
constexpr double kSlowShare = 0.9;
constexpr std::size_t kLeastPairs = 3;

double seconds_of(std::int64_t begin_ns, std::int64_t end_ns) { return static_cast<double>(end_ns - begin_ns) * 1e-9; }

}  // namespace

std::vector<double> together_s(const Stamps& stamps) {
  std::vector<double> seconds;
  for (std::size_t sample = 0; sample < stamps.samples; ++sample) {
    std::int64_t first = stamps.begin(0, sample);
    std::int64_t last = stamps.end(0, sample);
    for (std::size_t rank = 1; rank < stamps.ranks(); ++rank) {
      first = std::min(first, stamps.begin(rank, sample));
      last = std::max(last, stamps.end(rank, sample));
    }
    seconds.push_back(seconds_of(first, last));
  }
  return seconds;
}

std::vector<double> pair_s(const Stamps& stamps, const Pair& pair) {
  const auto a = static_cast<std::size_t>(pair.first);
  const auto b = static_cast<std::size_t>(pair.second);
  std::vector<double> seconds;
  for (std::size_t sample = 0; sample < stamps.samples; ++sample) {
    seconds.push_back(seconds_of(std::min(stamps.begin(a, sample), stamps.begin(b, sample)),
                                 std::max(stamps.end(a, sample), stamps.end(b, sample))));
  }
  return seconds;
}

std::vector<double> longest_s(const Stamps& stamps) {
  std::vector<double> seconds;
  for (std::size_t sample = 0; sample < stamps.samples; ++sample) {
    double most_s = 0;
    for (std::size_t rank = 0; rank < stamps.ranks(); ++rank) {
      most_s = std::max(most_s, seconds_of(stamps.begin(rank, sample), stamps.end(rank, sample)));
    }
    seconds.push_back(most_s);
  }
  return seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Slowest slowest(const std::vector<std::vector<double>>& pairs) {
  Slowest found;
  std::vector<double> medians;
  medians.reserve(pairs.size());
  for (const auto& seconds : pairs) medians.push_back(median(seconds));
  if (medians.empty()) return found;
  found.pair = static_cast<std::size_t>(std::max_element(medians.begin(), medians.end()) - medians.begin());
  found.median_s = medians[found.pair];
  found.middle_s = median(medians);
  if (pairs.size() < kLeastPairs) return found;
  const std::size_t samples = pairs[found.pair].size();
  std::size_t slower = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    std::vector<double> beside;
    beside.reserve(pairs.size());
    for (const auto& seconds : pairs) beside.push_back(seconds[sample]);
    slower += pairs[found.pair][sample] > kSlowBy * median(std::move(beside)) ? 1 : 0;
  }
  found.is_slow = samples > 0 && static_cast<double>(slower) >= kSlowShare * static_cast<double>(samples);
  return found;
}

double hpcc_s(std::span<const double> seconds, std::size_t orders) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t order = 0; order < std::min(orders, seconds.size()); ++order) {
    double least = seconds[order];
    for (std::size_t at = order; at < seconds.size(); at += orders) least = std::min(least, seconds[at]);
    sum += std::log(least);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
}

}  // namespace shakedown::multi_pair
