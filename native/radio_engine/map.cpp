#include "map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>

#include "common/error.hpp"
#include "radio/loops.hpp"

namespace shakedown::radio {
namespace {

constexpr double kEdge_deg = 1e-9;  // so little off the grid is on its edge: 0.1 mm

/// A whole file in memory, to be read.
class Mapped {
 public:
  Mapped(const std::string& path, std::uint64_t expected) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw cannot("the terrain '" + path + "' cannot be read: " + std::strerror(errno), "see --help");
    struct stat found {};
    const bool known = fstat(file, &found) == 0;
    const auto bytes = known ? static_cast<std::uint64_t>(found.st_size) : 0;
    if (bytes == expected && expected > 0) {
      void* const at = mmap(nullptr, expected, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
      if (at != MAP_FAILED) data_ = at;
    }
    const int why = errno;
    close(file);
    if (bytes != expected) {
      throw usage(
          "the terrain '" + path + "' has " + std::to_string(bytes) + " bytes, its grid " + std::to_string(expected),
          "give --rows, --columns and --kind as they are in the file");
    }
    if (data_ == nullptr) throw cannot("the terrain '" + path + "' cannot be mapped: " + std::strerror(why));
    bytes_ = expected;
  }
  ~Mapped() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {static_cast<const T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Map::Map(const std::string& path, const Grid& grid, HeightKind kind, double scale_m, double offset_m,
         const AntennaRange& antennas)
    : grid_(grid), antennas_(antennas) {
  const auto points = static_cast<std::uint64_t>(grid.rows) * static_cast<std::uint64_t>(grid.columns);
  const std::uint64_t each = kind == HeightKind::int16 ? sizeof(std::int16_t) : sizeof(float);
  if (grid.north_deg - (grid.rows - 1) * grid.row_deg < -90 - kEdge_deg) {
    throw usage("the grid reaches beyond the South Pole", "give --north-deg, --rows and --row-deg that fit");
  }
  const Mapped file(path, points * each);
  require_memory(3 * points * each, "the terrain");  // pairs of heights, and what is read of the file
  ground_ = kind == HeightKind::int16
                ? std::make_unique<const Ground>(file.as<std::int16_t>(), grid.rows, grid.columns, scale_m, offset_m)
                : std::make_unique<const Ground>(file.as<float>(), grid.rows, grid.columns);
}

Station Map::station(double latitude_deg, double longitude_deg, double height_m) const {
  Station station;
  if (!std::isfinite(latitude_deg) || !std::isfinite(longitude_deg) || !std::isfinite(height_m)) return station;
  const double turns = std::floor((longitude_deg - grid_.west_deg + kEdge_deg) / 360);
  const double longitude = longitude_deg - 360 * turns;
  const double row = (grid_.north_deg - latitude_deg) / grid_.row_deg;
  const double column = (longitude - grid_.west_deg) / grid_.column_deg;
  const double edge_row = kEdge_deg / grid_.row_deg, edge_column = kEdge_deg / grid_.column_deg;
  station.standing = Standing::off_map;
  if (!(row >= -edge_row && row <= grid_.rows - 1 + edge_row)) return station;
  if (!(column >= -edge_column && column <= grid_.columns - 1 + edge_column)) return station;
  station.row = std::clamp(row, 0.0, grid_.rows - 1.0);
  station.column = std::clamp(column, 0.0, grid_.columns - 1.0);
  station.height_m = height_m;
  station.standing = Standing::height;
  if (height_m < antennas_.lowest_m || height_m > antennas_.highest_m) return station;
  station.geo = geo_place(latitude_deg, longitude);
  const Route here{{station.column, 0, 0, 0}, {station.row, 0, 0, 0}, 0, {0, 0}};
  station.ground_m = profile(here, 2).at(0);
  station.standing = std::isnan(station.ground_m) ? Standing::over_hole : Standing::known;
  return station;
}

Route Map::route(const Station& from, const Station& to) const {
  const Geodesic path = geodesic_between(from.geo, to.geo);
  const double down = -1 / grid_.row_deg, right = 1 / grid_.column_deg;
  const Cubic row = cubic_of(from.row, to.row, path.latitude_deg[0] * down, path.latitude_deg[1] * down);
  const Cubic column = cubic_of(from.column, to.column, path.longitude_deg[0] * right, path.longitude_deg[1] * right);
  Route route;
  std::copy_n(column.c, 4, route.column);
  std::copy_n(row.c, 4, route.row);
  route.length_m = path.length_m;
  route.antenna_m[0] = from.height_m;
  route.antenna_m[1] = to.height_m;
  return route;
}

std::vector<double> Map::profile(const Route& route, int points) const {
  Route bare = route;
  if (!(bare.length_m > 0)) bare.length_m = 1;  // the loops want ways and antennas that have a loss
  bare.antenna_m[0] = bare.antenna_m[1] = 1;
  return profile_of(*ground_, bare, points);
}

double Map::diagonal_m() const {
  const double south = grid_.north_deg - (grid_.rows - 1) * grid_.row_deg;
  const double wide = std::min(179.0, (grid_.columns - 1) * grid_.column_deg);
  double most = 0;
  for (const double from : {grid_.north_deg, south}) {
    for (const double to : {grid_.north_deg, south}) {
      most = std::max(most, geodesic_between(geo_place(from, 0), geo_place(to, wide)).length_m);
    }
  }
  return most;
}

}  // namespace shakedown::radio
