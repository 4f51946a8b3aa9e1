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

/// Batcher's odd-even merge sort of kBlock values: 191 exchanges (Knuth, volume 3, 5.2.2, algorithm M).
template <class Each>
constexpr void sorting(Each&& each) {
  for (int p = 1; p < kBlock; p *= 2) {
    for (int k = p; k >= 1; k /= 2) {
      for (int j = k % p; j + k < kBlock; j += 2 * k) {
        for (int i = 0; i < k && i + j + k < kBlock; ++i) {
          if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) each(i + j, i + j + k);
        }
      }
    }
  }
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

/// The exchanges that sort a block which first rises and then falls (or the other way round): 80.
constexpr auto merging_network() {
  std::array<Exchange, 80> network{};
  std::size_t at = 0;
  for (int distance = kBlock / 2; distance >= 1; distance /= 2) {
    for (int start = 0; start < kBlock; start += 2 * distance) {
      for (int i = start; i < start + distance; ++i) {
        network[at++] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i + distance)};
      }
    }
  }
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
