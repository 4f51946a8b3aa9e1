// The k-th largest and the k-th smallest of up to some hundred values of each lane, for k up to 32: blocks of 32 rows
// are sorted by a network of exchanges, which takes the same way in every lane, and merged into the best 32 so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lanes.hpp"

namespace shakedown::radio {

constexpr int kBlock = 32;

struct Exchange {
  std::uint8_t low, high;
};

namespace order_detail {

/// Batcher's odd-even merge of the two sorted halves of `count` values from `low` on, every `stride`-th of them.
template <class Each>
constexpr void merging_halves(int low, int count, int stride, Each&& each) {
  const int twice = 2 * stride;
  if (twice >= count) {
    each(low, low + stride);
    return;
  }
  merging_halves(low, count, twice, each);
  merging_halves(low + stride, count, twice, each);
  for (int i = low + stride; i + stride < low + count; i += twice) each(i, i + stride);
}

/// Batcher's odd-even merge sort of kBlock values: 191 exchanges (Knuth, volume 3, 5.2.2, algorithm M). Those of few
/// values come together, half by half, so that the registers hold what they exchange.
template <class Each>
constexpr void sorting(Each&& each, int low = 0, int count = kBlock) {
  if (count < 2) return;
  sorting(each, low, count / 2);
  sorting(each, low + count / 2, count / 2);
  merging_halves(low, count, 1, each);
}

constexpr std::size_t sorting_count() {
  std::size_t count = 0;
  sorting([&](int, int) { ++count; });
  return count;
}

constexpr auto sorting_network() {
  std::array<Exchange, sorting_count()> network{};
  std::size_t at = 0;
  sorting([&](int low, int high) {
    network[at++] = {static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high)};
  });
  return network;
}
inline constexpr auto kSorting = sorting_network();

/// The exchanges that sort a block which first rises and then falls (or the other way round), half by half: 80.
template <class Each>
constexpr void merging(Each&& each, int low = 0, int count = kBlock) {
  if (count < 2) return;
  for (int i = low; i < low + count / 2; ++i) each(i, i + count / 2);
  merging(each, low, count / 2);
  merging(each, low + count / 2, count / 2);
}
constexpr auto merging_network() {
  std::array<Exchange, 80> network{};
  std::size_t at = 0;
  merging([&](int low, int high) {
    network[at++] = {static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high)};
  });
  return network;
}
inline constexpr auto kMerging = merging_network();

}  // namespace order_detail

template <class L>
SHAKEDOWN_LANES void exchange(L* rows, int low, int high) {
  const L a = rows[low], b = rows[high];
  rows[low] = smaller(a, b);
  rows[high] = larger(b, a);
}

/// Rows sorted upwards, lane by lane.
template <class L>
SHAKEDOWN_LANES void sort_block(L* rows) {
  SHAKEDOWN_UNROLL
  for (std::size_t i = 0; i < order_detail::kSorting.size(); ++i) {
    exchange(rows, order_detail::kSorting[i].low, order_detail::kSorting[i].high);
  }
}

/// The largest 32 (or the smallest) of two sorted blocks, sorted, in the place of the first.
template <bool kLargest, class L>
SHAKEDOWN_LANES void merge_block(L* best, const L* more) {
  for (int i = 0; i < kBlock; ++i) {
    const L other = more[kBlock - 1 - i];
    best[i] = kLargest ? larger(best[i], other) : smaller(best[i], other);
  }
  SHAKEDOWN_UNROLL
  for (std::size_t i = 0; i < order_detail::kMerging.size(); ++i) {
    exchange(best, order_detail::kMerging[i].low, order_detail::kMerging[i].high);
  }
}

/// The ranks[lane]-th largest less the ranks[lane]-th smallest of each lane's first counts[lane] values, of `most`
/// rows; 1 <= rank <= 32 and rank <= count.
template <class L>
SHAKEDOWN_LANES L spread(const typename L::Real* values, int most, L counts, const int* ranks) {
  using Real = typename L::Real;
  constexpr Real kNone = std::numeric_limits<Real>::infinity();
  L smallest[kBlock], largest[kBlock], block[kBlock], twin[kBlock];
  for (int i = 0; i < kBlock; ++i) {
    smallest[i] = L(static_cast<double>(kNone));
    largest[i] = L(static_cast<double>(-kNone));
  }
  for (int begin = 0; begin < most; begin += kBlock) {
    typename L::Truth all_absent = L(0) > L(0);
    for (int i = 0; i < kBlock; ++i) {
      const int row = begin + i;
      const auto absent = L(row) >= counts;
      const L value = row < most ? L::load(values + static_cast<long>(row) * L::kWidth) : L(0);
      block[i] = select(absent, L(static_cast<double>(kNone)), value);
      twin[i] = select(absent, L(static_cast<double>(-kNone)), value);
      all_absent = all_absent | absent;
    }
    sort_block(block);
    merge_block<false>(smallest, block);
    if (all_absent.any()) {  // a row that is absent is the last of the smallest and the last of the largest
      sort_block(twin);
      merge_block<true>(largest, twin);
    } else {
      merge_block<true>(largest, block);
    }
  }
  L found;
  for (int lane = 0; lane < L::kWidth; ++lane) {
    found.set(lane, largest[kBlock - ranks[lane]][lane] - smallest[ranks[lane] - 1][lane]);
  }
  return found;
}

}  // namespace shakedown::radio
