// The file of a town, which src/shakedown/radio/buildings writes: its place on the Earth, and its buildings in metres.
//
//   town LATITUDE_DEG LONGITUDE_DEG EAST_M_PER_DEG NORTH_M_PER_DEG BUILDINGS
//   building GROUND_M HEIGHT_M RINGS                                             each building
//   ring CORNERS X Y X Y ...                                                     each of its rings
#pragma once

#include <string>
#include <vector>

#include "town.hpp"

namespace shakedown::radio::rays {

struct TownFile {
  double latitude_deg = 0, longitude_deg = 0;
  double east_m_per_deg = 1, north_m_per_deg = 1;
  std::vector<Building> buildings;
  /// Longitudes may be given in any turn.
  [[nodiscard]] Point plane(double latitude, double longitude) const;
};

/// Throws a usage error, with the line, for a file that is not one; "could not measure" where it cannot be read.
TownFile read_town(const std::string& path);

}  // namespace shakedown::radio::rays
