// From when each rank began and ended each sample to times: of all together, of each pair, and as others define them.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pairing.hpp"

namespace shakedown::multi_pair {

/// When each rank began and ended each sample, in ns of one clock: the samples of rank 0, then those of rank 1, ...
struct Stamps {
  std::size_t samples = 0;
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  [[nodiscard]] std::size_t ranks() const { return samples == 0 ? 0 : begins.size() / samples; }
  [[nodiscard]] std::int64_t begin(std::size_t rank, std::size_t sample) const {
    return begins[rank * samples + sample];
  }
  [[nodiscard]] std::int64_t end(std::size_t rank, std::size_t sample) const { return ends[rank * samples + sample]; }
};

/// Of each sample: from the first rank's begin to the last rank's end, in seconds. A slow pair shows.
std::vector<double> together_s(const Stamps& stamps);
/// The same of two ranks.
std::vector<double> pair_s(const Stamps& stamps, const Pair& pair);
/// Of each sample the longest of the ranks' own times, whenever they began: as hpcc's rings take it.
std::vector<double> longest_s(const Stamps& stamps);

double median(std::vector<double> values);

/// The pair with the greatest median, and whether it is slow: in nine samples of ten it takes a tenth longer than the
/// median pair of the same sample. Of fewer than three pairs none is.
struct Slowest {
  std::size_t pair = 0;
  double median_s = 0;
  double middle_s = 0;  // the median over the pairs of their medians
  bool is_slow = false;
};
Slowest slowest(const std::vector<std::vector<double>>& pairs);

/// hpcc's figure of a ring: of each order the least time, and the geometric mean of those. Sample i is of order i
/// modulo `orders`.
double hpcc_s(std::span<const double> seconds, std::size_t orders);

}  // namespace shakedown::multi_pair
