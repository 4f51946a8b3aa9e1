// Heights of the ground on a grid, radios on it, and profiles between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "lanes.hpp"

namespace shakedown::radio {

/// Heights above sea level at the crossings of a square grid in a plane: row by row from the south-west, `side` in
/// each.
struct Terrain {
  int side = 0;
  double step_m = 0;
  Buffer memory;  // in huge pages, where there are: a path runs through hundreds of small ones

  Terrain() = default;
  Terrain(int points, double between_m);
  [[nodiscard]] std::span<float> heights_m() const {
    return memory.as<float>().first(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  }
};

/// Hills of all sizes down to the step, the same for the same seed on every machine: octaves of smooth noise on
/// lattices, each half as wide and 0.55 as high as the one before; the lowest point is near 0 m, the highest near
/// `relief_m`.
Terrain synthetic_terrain(std::uint64_t seed, int side, double step_m, double relief_m);

/// Where radios stand, in steps of the grid from its south-west corner.
struct Radios {
  std::vector<double> x, y;
  [[nodiscard]] std::size_t count() const { return x.size(); }
};
/// Places at random, anywhere on the grid, no two the same.
Radios random_radios(std::uint64_t seed, std::size_t count, const Terrain& terrain);

/// Heights along the straight lines from one radio to one in each lane, bilinear in the grid, at `points` equal steps
/// with both ends: rows of a height a lane. Returns the length of a step in m, lane by lane.
template <class L>
SHAKEDOWN_LANES L sample_profiles(const Terrain& terrain, double from_x, double from_y, L to_x, L to_y, int points,
                                  typename L::Real* heights_m) {
  const L begin_x = from_x, begin_y = from_y, last = terrain.side - 2, side = terrain.side;
  const L part = 1.0 / (points - 1);
  const L step_x = (to_x - begin_x) * part, step_y = (to_y - begin_y) * part;
  const float* const heights = terrain.heights_m().data();
  L at = 0;
  for (int i = 0; i < points; ++i, at += L(1)) {
    const L x = begin_x + step_x * at, y = begin_y + step_y * at;
    const L column = smaller(larger(floor(x), L(0)), last), row = smaller(larger(floor(y), L(0)), last);
    const L right = x - column, up = y - row;
    const auto index = whole(row * side + column);
    L south_west, south_east, north_west, north_east;
    gather_pair(heights, index, south_west, south_east);
    gather_pair(heights + terrain.side, index, north_west, north_east);
    const L south = south_west + (south_east - south_west) * right,
            north = north_west + (north_east - north_west) * right;
    (south + (north - south) * up).store(heights_m + static_cast<long>(i) * L::kWidth);
  }
  return sqrt(step_x * step_x + step_y * step_y) * L(terrain.step_m);
}

}  // namespace shakedown::radio
