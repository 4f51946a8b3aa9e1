#include "terrain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace shakedown::radio {
namespace {

/// Splitmix64: a number whose bits look random, for each number.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// In [0, 1).
double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Adds one octave: values at random on a lattice of `width` steps, joined smoothly.
void add_octave(std::vector<double>& heights, int side, int width, double high, std::uint64_t seed) {
  const int cells = (side - 1) / width + 2;
  std::vector<double> lattice(static_cast<std::size_t>(cells) * static_cast<std::size_t>(cells));
  for (std::size_t i = 0; i < lattice.size(); ++i) lattice[i] = high * uniform(mixed(seed ^ mixed(i)));
  const auto smooth = [&](int at) {
    const double t = static_cast<double>(at % width) / width;
    return t * t * (3 - 2 * t);
  };
  for (int y = 0; y < side; ++y) {
    const double up = smooth(y);
    const double* const south = &lattice[static_cast<std::size_t>(y / width) * static_cast<std::size_t>(cells)];
    const double* const north = south + cells;
    double* const row = &heights[static_cast<std::size_t>(y) * static_cast<std::size_t>(side)];
    for (int x = 0; x < side; ++x) {
      const int cell = x / width;
      const double right = smooth(x);
      const double low = south[cell] + (south[cell + 1] - south[cell]) * right;
      row[x] += low + (north[cell] + (north[cell + 1] - north[cell]) * right - low) * up;
    }
  }
}

}  // namespace

Terrain::Terrain(int points, double between_m)
    : side(points),
      step_m(between_m),
      memory(static_cast<std::size_t>(points) * static_cast<std::size_t>(points) * sizeof(float), Pages::huge) {}

Terrain synthetic_terrain(std::uint64_t seed, int side, double step_m, double relief_m) {
  std::vector<double> heights(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  double high = 1;
  for (int width = std::max(1, (side - 1) / 4); width >= 1; width /= 2, high *= 0.55) {
    add_octave(heights, side, width, high, mixed(seed + static_cast<std::uint64_t>(width)));
  }
  const auto [low, top] = std::minmax_element(heights.begin(), heights.end());
  const double base = *low, scale = *top > *low ? relief_m / (*top - *low) : 0;
  Terrain terrain(side, step_m);
  const std::span<float> rounded = terrain.heights_m();
  for (std::size_t i = 0; i < heights.size(); ++i) {
    rounded[i] = static_cast<float>((heights[i] - base) * scale);
  }
  return terrain;
}

Ground ground_of(const Terrain& terrain, HeightKind kind) {
  const std::span<const float> heights = terrain.heights_m();
  if (kind == HeightKind::float32) return {heights, terrain.side, terrain.side};
  double top = 0;
  for (const float height : heights) top = std::max(top, std::fabs(static_cast<double>(height)));
  double scale = 0x1p-10;
  while (top / scale > std::numeric_limits<std::int16_t>::max()) scale *= 2;
  std::vector<std::int16_t> numbers;
  numbers.reserve(heights.size());
  for (const float height : heights) {
    numbers.push_back(static_cast<std::int16_t>(std::lrint(static_cast<double>(height) / scale)));
  }
  return {numbers, terrain.side, terrain.side, scale, 0};
}

Radios random_radios(std::uint64_t seed, std::size_t count, int side) {
  Radios radios;
  std::set<std::pair<double, double>> taken;
  for (std::uint64_t draw = 0; radios.count() < count; ++draw) {
    const double x = uniform(mixed(mixed(seed) + 2 * draw)) * (side - 1);
    const double y = uniform(mixed(mixed(seed) + 2 * draw + 1)) * (side - 1);
    if (!taken.insert({x, y}).second) continue;
    radios.x.push_back(x);
    radios.y.push_back(y);
  }
  return radios;
}

}  // namespace shakedown::radio
