// An order of places in which neighbours stand near each other: along a Hilbert curve.
//
// Links from a few near places to a few near places are of about the same length and direction: side by side they read
// the same lines of the terrain, and one after the other they find them in the near caches.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shakedown::radio {

constexpr std::size_t kBlockOfPlaces = 16;  // places that are near each other, one behind the other in the order

/// The numbers of the places at (x[i], y[i]), each once; what is no finite number comes last.
std::vector<std::uint32_t> by_nearness(std::span<const double> x, std::span<const double> y);

/// Grows with the direction of (x, y), from 0 to 4 around the circle.
inline float direction(double x, double y) {
  const double sum = std::fabs(x) + std::fabs(y), part = sum > 0 ? y / sum : 0;
  return static_cast<float>(x < 0 ? 2 - part : y < 0 ? 4 + part : part);
}

}  // namespace shakedown::radio
