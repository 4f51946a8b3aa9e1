#include "tracing.hpp"

#include <algorithm>
#include <limits>

namespace shakedown::radio {
namespace {

rays::RaySetting ray_setting(const ModelSetting& setting) {
  rays::RaySetting found = setting.ray_tracing;
  found.frequency_mhz = setting.radio.frequency_mhz;
  found.polarization = setting.radio.polarization;
  found.ground = {setting.radio.permittivity, setting.radio.conductivity_s_per_m};
  return found;
}

/// An area of the town's plane.
struct Area {
  double low_x = std::numeric_limits<double>::infinity(), low_y = low_x, high_x = -low_x, high_y = -low_x;
  void take(rays::Point at, double margin_m) {
    low_x = std::min(low_x, at.x - margin_m);
    low_y = std::min(low_y, at.y - margin_m);
    high_x = std::max(high_x, at.x + margin_m);
    high_y = std::max(high_y, at.y + margin_m);
  }
  [[nodiscard]] bool meets(const Area& other) const {
    return low_x <= other.high_x && other.low_x <= high_x && low_y <= other.high_y && other.low_y <= high_y;
  }
};

Json building_json(const rays::Building& building) {
  std::vector<Json> rings;
  for (const std::vector<rays::Point>& ring : building.rings) {
    std::vector<Json> points;
    points.reserve(ring.size());
    for (const rays::Point at : ring) points.push_back({to_json(std::vector<double>{at.x, at.y})});
    rings.push_back({to_json(points)});
  }
  return Object().add("height_m", building.height_m).add("ground_m", building.ground_m).add("rings", rings).json();
}

}  // namespace

Tracing::Tracing(const std::string& path, const ModelSetting& setting)
    : file_(rays::read_town(path)), town_(file_.buildings), prepared_(rays::prepare(ray_setting(setting))) {}

rays::Spot Tracing::spot(const Station& station) const {
  return {file_.plane(station.geo.latitude_deg, station.geo.longitude_deg), station.ground_m, station.height_m};
}

bool Tracing::inside(const Station& station) const { return rays::is_inside(town_, spot(station)); }

std::shared_ptr<const rays::View> Tracing::view(const Station& station, Scratch& scratch) const {
  auto found = std::make_shared<rays::View>();
  rays::see(town_, prepared_, spot(station), *found, scratch.see);
  found->walls.shrink_to_fit();
  found->walls_behind.shrink_to_fit();
  found->arms.shrink_to_fit();
  found->arms_by_walls.shrink_to_fit();
  return found;
}

const rays::Trace& Tracing::trace(const Station& from, const Station& to, Scratch& scratch) const {
  if (from.view == nullptr) rays::see(town_, prepared_, spot(from), scratch.from, scratch.see);
  const rays::View& one = from.view == nullptr ? scratch.from : *from.view;
  if (to.view == nullptr) rays::see_towards(town_, prepared_, spot(to), one, scratch.to, scratch.see);
  rays::trace(town_, prepared_, one, to.view == nullptr ? scratch.to : *to.view, scratch.trace, scratch.found);
  return scratch.found;
}

std::vector<Json> Tracing::buildings_near(const rays::Trace& trace, double margin_m) const {
  Area stops;
  for (const rays::Stop& stop : trace.stops) stops.take(stop.at, margin_m);
  std::vector<Json> found;
  for (const rays::Building& building : file_.buildings) {
    Area outline;
    for (const std::vector<rays::Point>& ring : building.rings) {
      for (const rays::Point at : ring) outline.take(at, 0);
    }
    if (stops.meets(outline)) found.push_back(building_json(building));
  }
  return found;
}

std::uint64_t bytes_of(const rays::View& view) {
  const auto held = [](const auto& vector) { return vector.capacity() * sizeof(vector.front()); };
  return sizeof view + held(view.walls) + held(view.walls_behind) + held(view.arms) + held(view.arms_by_walls);
}

TracedPaths traced_paths(const rays::Trace& trace) {
  double strongest = std::numeric_limits<double>::infinity();
  for (const rays::Path& path : trace.paths) strongest = std::min(strongest, path.loss_db());
  return {trace.paths.size(), trace.loss_db, strongest, trace.coherent_db, trace.power_db};
}

}  // namespace shakedown::radio
