#include "nearness.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace shakedown::radio {
namespace {

constexpr std::uint32_t kSide = std::uint32_t{1} << 16;

/// How far along the Hilbert curve of a square of kSide a cell lies: quadrant by quadrant, each turned so that the
/// curve enters it where it left the one before (D. Hilbert, Math. Ann. 38, 1891).
std::uint32_t along_curve(std::uint32_t x, std::uint32_t y) {
  std::uint32_t along = 0;
  for (std::uint32_t half = kSide / 2; half > 0; half /= 2) {
    const bool right = (x & half) != 0, up = (y & half) != 0;
    along += half * half * (right ? (up ? 2U : 3U) : (up ? 1U : 0U));
    if (up) continue;
    if (right) {
      x = kSide - 1 - x;
      y = kSide - 1 - y;
    }
    std::swap(x, y);
  }
  return along;
}

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();
};
Extent extent_of(std::span<const double> numbers) {
  Extent extent;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    extent.least = std::min(extent.least, number);
    extent.most = std::max(extent.most, number);
  }
  return extent;
}

}  // namespace

std::vector<std::uint32_t> by_nearness(std::span<const double> x, std::span<const double> y) {
  const Extent wide = extent_of(x), high = extent_of(y);
  const double side = std::max({wide.most - wide.least, high.most - high.least, 1e-300});
  const auto cell = [&](double number, const Extent& extent) {
    return static_cast<std::uint32_t>((number - extent.least) / side * (kSide - 1));
  };
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  places.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool known = std::isfinite(x[i]) && std::isfinite(y[i]);
    places.emplace_back(known ? along_curve(cell(x[i], wide), cell(y[i], high)) : std::uint64_t{1} << 32,
                        static_cast<std::uint32_t>(i));
  }
  std::sort(places.begin(), places.end());
  std::vector<std::uint32_t> order;
  order.reserve(places.size());
  for (const auto& place : places) order.push_back(place.second);
  return order;
}

NearPairs::NearPairs(std::span<const double> x, std::span<const double> y, std::span<const char> is_new,
                     std::size_t threads)
    : order_(by_nearness(x, y)) {
  for (std::size_t begin = 0; begin < order_.size(); begin += kBlockOfPlaces) {
    blocks_.push_back(block_of(x, y, begin, std::min(begin + kBlockOfPlaces, order_.size())));
  }
  for (const std::uint32_t place : order_) is_new_.push_back(is_new[place]);
  const auto count = static_cast<std::size_t>(std::ranges::count_if(is_new_, [](char one) { return one != 0; }));
  const std::size_t share = 4 * threads;  // tasks, so that all threads end at about the same time
  if (count == order_.size() && blocks_.size() >= share) {
    from_ = blocks_;
    return;
  }
  for (std::size_t at = 0; at < order_.size(); ++at) {
    if (is_new_[at] != 0) from_.push_back(block_of(x, y, at, at + 1));
  }
  slices_ =
      std::clamp<std::size_t>(share / std::max<std::size_t>(count, 1), 1, std::max<std::size_t>(blocks_.size(), 1));
}

NearPairs::Block NearPairs::block_of(std::span<const double> x, std::span<const double> y, std::size_t begin,
                                     std::size_t end) const {
  Block block{begin, end, 0, 0};
  for (std::size_t at = begin; at < end; ++at) {
    block.x += x[order_[at]] / static_cast<double>(end - begin);
    block.y += y[order_[at]] / static_cast<double>(end - begin);
  }
  return block;
}

void NearPairs::sort_blocks(const Block& from, std::size_t begin, std::size_t end, Scratch& scratch) const {
  scratch.by_direction.clear();
  for (std::size_t block = begin; block < end; ++block) {
    scratch.by_direction.emplace_back(direction(blocks_[block].x - from.x, blocks_[block].y - from.y), block);
  }
  std::ranges::sort(scratch.by_direction);
}

/// Of two that are new the first in the order has their pair.
void NearPairs::add_pairs(const Block& from, const Block& to, Scratch& scratch) const {
  for (std::size_t from_at = from.begin; from_at < from.end; ++from_at) {
    for (std::size_t to_at = to.begin; to_at < to.end; ++to_at) {
      if (to_at == from_at || (to_at < from_at && is_new_[to_at] != 0)) continue;
      const std::uint32_t here = order_[from_at], there = order_[to_at];
      if (here < there) {
        scratch.outward.push_back({here, there});
      } else {
        scratch.inward.push_back({there, here});
      }
    }
  }
}

}  // namespace shakedown::radio
