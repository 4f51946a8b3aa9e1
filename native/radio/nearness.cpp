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

}  // namespace shakedown::radio
