// Terrain that is made from a seed, and radios on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "ground.hpp"

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
/// Places at random, anywhere on a grid of so many points a side, no two the same.
Radios random_radios(std::uint64_t seed, std::size_t count, int side);
inline Radios random_radios(std::uint64_t seed, std::size_t count, const Terrain& terrain) {
  return random_radios(seed, count, terrain.side);
}

/// The same heights as the loops read them. In int16 they are rounded to the smallest power of two, in m, that lets
/// the relief fit: 1/32 m for 600 m.
Ground ground_of(const Terrain& terrain, HeightKind kind);

/// The way from one radio to another.
inline Route route_of(const Radios& radios, const Terrain& terrain, std::size_t from, std::size_t to,
                      double antenna_m) {
  return straight_route(radios.x[from], radios.y[from], radios.x[to], radios.y[to], terrain.step_m, antenna_m);
}

}  // namespace shakedown::radio
