// An order of places in which neighbours stand near each other: along a Hilbert curve.
//
// Links from a few near places to a few near places are of about the same length and direction: side by side they read
// the same lines of the terrain, and one after the other they find them in the near caches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shakedown::radio {

constexpr std::size_t kBlockOfPlaces = 16;  // places that are near each other, one behind the other in the order

/// The numbers of the places at (x[i], y[i]), each once; what is no finite number comes last.
std::vector<std::uint32_t> by_nearness(std::span<const double> x, std::span<const double> y);

/// A pair of places by their numbers.
struct PlacePair {
  std::uint32_t low, high;  // low < high
};

/// All pairs of places with one that is new, each once, in the order in which their links are best found: from blocks
/// of near places to blocks of near places by direction, and where few are new from each of them. Cut in tasks, the
/// longest first; each can be done by any thread.
class NearPairs {
 public:
  /// `is_new[i]`: of the place at (x[i], y[i]); `threads` that share the tasks.
  NearPairs(std::span<const double> x, std::span<const double> y, std::span<const char> is_new, std::size_t threads);

  [[nodiscard]] std::size_t tasks() const { return from_.size() * slices_; }

  /// What one thread needs: pairs from the place of the lower number are kept apart from those to it, since their links
  /// read the ground the other way round.
  struct Scratch {
    std::vector<std::pair<float, std::size_t>> by_direction;
    std::vector<PlacePair> outward, inward;
  };
  /// Calls find(std::span<const PlacePair>) with up to kPairsAtOnce pairs of a task at a time.
  template <class Find>
  void each(std::size_t task, Scratch& scratch, const Find& find) const {
    const Block& from = from_[task / slices_];
    const std::size_t slice = task % slices_;
    const std::size_t begin = slice * blocks_.size() / slices_, end = (slice + 1) * blocks_.size() / slices_;
    sort_blocks(from, begin, end, scratch);
    for (const auto& [heading, to] : scratch.by_direction) {
      add_pairs(from, blocks_[to], scratch);
      for (auto* const pairs : {&scratch.outward, &scratch.inward}) hand_over(*pairs, kPairsAtOnce, find);
    }
    for (auto* const pairs : {&scratch.outward, &scratch.inward}) hand_over(*pairs, 1, find);
  }

  static constexpr std::size_t kPairsAtOnce = 64;

 private:
  /// Places that are near each other: a part of the order, and its middle.
  struct Block {
    std::size_t begin, end;
    double x, y;
  };

  [[nodiscard]] Block block_of(std::span<const double> x, std::span<const double> y, std::size_t begin,
                               std::size_t end) const;
  void sort_blocks(const Block& from, std::size_t begin, std::size_t end, Scratch& scratch) const;
  void add_pairs(const Block& from, const Block& to, Scratch& scratch) const;

  /// Hands pairs over and takes them out while there are `fewest` of them.
  template <class Find>
  static void hand_over(std::vector<PlacePair>& pairs, std::size_t fewest, const Find& find) {
    std::size_t done = 0;
    for (; pairs.size() - done >= fewest && done < pairs.size(); done += std::min(kPairsAtOnce, pairs.size() - done)) {
      find(std::span<const PlacePair>(pairs).subspan(done, std::min(kPairsAtOnce, pairs.size() - done)));
    }
    pairs.erase(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(done));
  }

  std::vector<std::uint32_t> order_;  // of the places, by where they are
  std::vector<char> is_new_;          // in that order
  std::vector<Block> blocks_;         // of it
  std::vector<Block> from_;           // whose pairs are a task, or `slices_` tasks
  std::size_t slices_ = 1;            // of the blocks to which they lead
};

/// Grows with the direction of (x, y), from 0 to 4 around the circle.
inline float direction(double x, double y) {
  const double sum = std::fabs(x) + std::fabs(y), part = sum > 0 ? y / sum : 0;
  return static_cast<float>(x < 0 ? 2 - part : y < 0 ? 4 + part : part);
}

}  // namespace shakedown::radio
