#include "explain.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.hpp"
#include "radio/itm_geometry.hpp"
#include "radio/lanes.hpp"

namespace shakedown::radio {
namespace {

constexpr double kDegrees = 180 / std::numbers::pi;
constexpr double kAround_m = 60;  // of the paths: buildings that a drawing of them shows

/// Where the path is: at `points` equal steps, latitude and longitude.
struct Track {
  std::vector<double> latitude_deg, longitude_deg;
};
Track track_of(const Grid& grid, const Route& route, std::size_t points) {
  Track track;
  const auto at = [](const double(&c)[4], double t) { return c[0] + t * (c[1] + t * (c[2] + t * c[3])); };
  for (std::size_t i = 0; i < points; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(points - 1);
    track.latitude_deg.push_back(grid.north_deg - at(route.row, t) * grid.row_deg);
    track.longitude_deg.push_back(grid.west_deg + at(route.column, t) * grid.column_deg);
  }
  return track;
}

/// The azimuth of a direction in the grid's slopes, clockwise from north.
double azimuth_deg(const GeoPlace& at, double latitude, double longitude) {
  const double north = latitude / at.latitude_deg_per_m, east = longitude / at.longitude_deg_per_m;
  const double found = std::atan2(east, north) * kDegrees;
  return found < 0 ? found + 360 : found;
}

Object end_of(const Station& station, double azimuth) {
  return Object()
      .add("latitude_deg", station.geo.latitude_deg)
      .add("longitude_deg", station.geo.longitude_deg)
      .add("height_m", station.height_m)
      .add("ground_m", station.ground_m)
      .add("azimuth_deg", azimuth);
}

/// The radius of the effective earth of a link: of the refractivity that the model found, or the setting's.
double earth_radius_m(const PreparedModel& model, const PathLoss& loss) {
  for (const Term& term : loss.terms()) {
    if (std::string_view(term.name) != "surface_refractivity_n") continue;
    return 1 / curvature_of(Lanes<double, 1>(term.value))[0];
  }
  return model.earth_radius_m;
}

}  // namespace

const char* words_of(Standing standing) {
  switch (standing) {
    case Standing::known:
      return "known";
    case Standing::not_finite:
      return "not a finite number";
    case Standing::off_map:
      return "off the map";
    case Standing::over_hole:
      return "where the height of the ground is not known";
    case Standing::inside:
      return "inside a building";
    case Standing::height:
      return "not 0.5 to 3000 m above ground";
  }
  return "not known";
}

Object explain(const Finder& finder, const Station& from, const Station& to) {
  for (const Station* station : {&from, &to}) {
    if (station->standing != Standing::known) {
      throw usage(std::string("a radio is ") + words_of(station->standing), "give places on the map");
    }
  }
  const Map& map = finder.map();
  const Route route = map.route(from, to);
  const Geodesic path = geodesic_between(from.geo, to.geo);
  const int points = points_of(finder.points(), route.length_m);
  std::vector<double> heights = map.profile(route, points);
  const bool leaves = heights.empty();
  if (leaves) heights.assign(static_cast<std::size_t>(points), std::nan(""));
  const bool whole = std::ranges::none_of(heights, [](double height) { return std::isnan(height); });
  heights.front() = from.ground_m;
  heights.back() = to.ground_m;
  Tracing::Scratch scratch;
  const PathLoss loss = finder.link(from, to, heights, route.length_m, scratch);
  std::string unknown;  // what the model cannot know of the way
  if (finder.model().model->uses_profile && !whole) {
    unknown = leaves ? "the path leaves the map" : "the path comes over ground of unknown height";
  }
  const Track track = track_of(map.grid(), route, static_cast<std::size_t>(points));
  Object said = Object()
                    .add("distance_m", route.length_m)
                    .add("points", points)
                    .add("unknown", unknown)
                    .add("effective_earth_radius_m", earth_radius_m(finder.model(), loss))
                    .add("from", end_of(from, azimuth_deg(from.geo, path.latitude_deg[0], path.longitude_deg[0])))
                    .add("to", end_of(to, azimuth_deg(to.geo, -path.latitude_deg[1], -path.longitude_deg[1])))
                    .add("loss", explanation_json(finder.model(), loss))
                    .add("profile", Object()
                                        .add("height_m", heights)
                                        .add("latitude_deg", track.latitude_deg)
                                        .add("longitude_deg", track.longitude_deg));
  if (finder.tracing() != nullptr) {
    const rays::Trace& found = finder.tracing()->trace(from, to, scratch);
    said.add("paths", rays::paths_json(found)).add("buildings", finder.tracing()->buildings_near(found, kAround_m));
  }
  return said;
}

}  // namespace shakedown::radio
