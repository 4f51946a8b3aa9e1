// The matrix of netlib HPL 2.3, bit for bit, from any element on.
#pragma once

#include <cstdint>

#include "lcg.hpp"

namespace shakedown::hpl {

/// Entry (i, j) of [A b], N x (N+1): the elements are numbered down the columns, whatever the distribution.
inline double entry(Index n, Index i, Index j) {
  const auto number = static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n) + static_cast<std::uint64_t>(i);
  return entry_of(kStep.times(number)(kSeed));
}

/// Entries along a row, many at a time: eight columns go side by side.
class RowGenerator {
 public:
  explicit RowGenerator(Index n) : n_(n), column_(kStep.times(static_cast<std::uint64_t>(n))) {
    Steps steps;
    for (auto& lane : lanes_) {
      lane = steps;
      steps = steps.then(column_);
    }
    eight_ = steps;
  }

  /// The state that gives entry (i, j).
  [[nodiscard]] std::uint64_t state(Index i, Index j) const {
    const auto number = static_cast<std::uint64_t>(j) * static_cast<std::uint64_t>(n_) + static_cast<std::uint64_t>(i);
    return kStep.times(number)(kSeed);
  }
  /// From the state of (i, j) to that of (i, j + columns).
  [[nodiscard]] Steps right(Index columns) const { return column_.times(static_cast<std::uint64_t>(columns)); }
  /// out[l] = entry (i, j + l) for l < count, from the state of (i, j).
  void fill(std::uint64_t state, Index count, double* out) const {
    std::uint64_t x[kLanes];
    for (int l = 0; l < kLanes; ++l) x[l] = lanes_[l](state);
    Index at = 0;
    for (; at + kLanes <= count; at += kLanes) {
      for (int l = 0; l < kLanes; ++l) out[at + l] = entry_of(x[l]);
      for (int l = 0; l < kLanes; ++l) x[l] = eight_(x[l]);
    }
    for (int l = 0; at + l < count; ++l) out[at + l] = entry_of(x[l]);
  }

 private:
  static constexpr int kLanes = 8;
  Index n_;
  Steps column_;
  Steps lanes_[kLanes];
  Steps eight_;
};

}  // namespace shakedown::hpl
