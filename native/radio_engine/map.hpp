// The terrain on the Earth: a geographic grid of heights from a file, the places of radios on it, and the ways between.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "radio/geodesic.hpp"
#include "radio/ground.hpp"

namespace shakedown::radio {
namespace rays {
struct View;
}

/// Where the grid lies: its first row is the northernmost, its first column the westernmost; degrees on WGS84.
struct Grid {
  int rows = 0, columns = 0;
  double north_deg = 0, west_deg = 0;
  double row_deg = 0, column_deg = 0;  // steps, above 0
};

/// What became of a place; the numbers stand in replies.
enum class Standing : std::uint8_t { known = 0, not_finite = 1, off_map = 2, over_hole = 3, height = 4, inside = 5 };

/// A radio, or a point of a coverage map.
struct Station {
  Standing standing = Standing::not_finite;
  double row = 0, column = 0;  // in the grid
  double height_m = 0;         // above ground
  double ground_m = 0;         // above sea level; not a number where that is not known
  std::uint32_t id = 0;        // of the radio, or of the cell
  GeoPlace geo{};
  std::shared_ptr<const rays::View> view;  // what rays from here may see; null until somebody needs it
};

/// Heights above ground of the antennas that a model has a loss for.
struct AntennaRange {
  double lowest_m, highest_m;
};

class Map {
 public:
  /// The heights lie in the file one behind the other: int16 (-32768: not known) or float32 (not a number: not known).
  /// Throws a usage error where the file is not as long as the grid says, "could not measure" where it cannot be read.
  Map(const std::string& path, const Grid& grid, HeightKind kind, double scale_m, double offset_m,
      const AntennaRange& antennas);

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const Ground& ground() const { return *ground_; }

  /// A place with what its ways need. Longitudes may be given in any turn.
  [[nodiscard]] Station station(double latitude_deg, double longitude_deg, double height_m) const;

  /// The geodesic between two stations that are known, in the grid.
  [[nodiscard]] Route route(const Station& from, const Station& to) const;

  /// Heights above sea level along a way, whatever its antennas: empty where it leaves the map, not a number everywhere
  /// where it comes over a hole.
  [[nodiscard]] std::vector<double> profile(const Route& route, int points) const;

  /// The length of the longest way on the map, about.
  [[nodiscard]] double diagonal_m() const;

 private:
  Grid grid_;
  AntennaRange antennas_;
  std::unique_ptr<const Ground> ground_;
};

}  // namespace shakedown::radio
