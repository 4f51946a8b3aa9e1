// Many radios on a team of threads, and what a link's drawing needs.
#include <atomic>
#include <numbers>

#include "rays.hpp"

namespace shakedown::radio::rays {
namespace {

/// Calls each(item, thread) for items 0 to count - 1, whichever thread is free.
template <class Each>
void share(Team& team, std::size_t count, Each&& each) {
  std::atomic<std::size_t> next{0};
  team.run([&](int thread) {
    for (std::size_t item = next.fetch_add(1); item < count; item = next.fetch_add(1)) {
      each(item, static_cast<std::size_t>(thread));
    }
  });
}

std::string kind_of(PathKind kind) {
  constexpr const char* kNames[] = {"direct", "reflected", "corner", "roof"};
  return kNames[static_cast<int>(kind)];
}

std::string kind_of(StopKind kind) {
  constexpr const char* kNames[] = {"end", "wall", "corner", "ground", "roof"};
  return kNames[static_cast<int>(kind)];
}

/// Clockwise from north, and above the horizon, of the way from one stop to another.
void add_direction(Object& object, const std::string& prefix, const Stop& from, const Stop& to) {
  const Point away = to.at - from.at;
  constexpr double kDegrees = 180 / std::numbers::pi;
  const double azimuth = std::atan2(away.x, away.y) * kDegrees;
  object.add(prefix + "_azimuth_deg", azimuth < 0 ? azimuth + 360 : azimuth);
  object.add(prefix + "_elevation_deg", std::atan2(to.z - from.z, length(away)) * kDegrees);
}

Object path_object(const Trace& trace, const Path& path) {
  const std::span<const Stop> stops = trace.stops_of(path);
  Object object;
  object.add("kind", kind_of(path.kind)).add("ground", path.ground).add("loss_db", path.loss_db());
  object.add("length_m", path.length_m).add("delay_ns", path.delay_ns()).add("phase_rad", std::arg(path.gain));
  object.add("diffraction_db", path.diffraction_db);
  add_direction(object, "departure", stops.front(), stops[1]);
  add_direction(object, "arrival", stops.back(), stops[stops.size() - 2]);
  std::vector<Object> points;
  for (const Stop& stop : stops) {
    Object point;
    point.add("kind", kind_of(stop.kind)).add("x_m", stop.at.x).add("y_m", stop.at.y).add("z_m", stop.z);
    points.push_back(point);
  }
  return object.add("stops", points);
}

}  // namespace

std::vector<Json> paths_json(const Trace& trace) {
  std::vector<Json> paths;
  for (const Path& path : trace.paths) paths.push_back(path_object(trace, path).json());
  return paths;
}

std::vector<View> see_all(Team& team, const Town& town, const PreparedRays& prepared, std::span<const Spot> spots) {
  std::vector<View> views(spots.size());
  std::vector<SeeScratch> scratch(static_cast<std::size_t>(team.size()));
  share(team, spots.size(),
        [&](std::size_t item, std::size_t thread) { see(town, prepared, spots[item], views[item], scratch[thread]); });
  return views;
}

void all_losses(Team& team, const Town& town, const PreparedRays& prepared, std::span<const View> views,
                std::span<float> loss_db) {
  struct Mine {
    TraceScratch scratch;
    Trace trace;
  };
  std::vector<Mine> mine(static_cast<std::size_t>(team.size()));
  share(team, views.size(), [&](std::size_t from, std::size_t thread) {
    auto& [scratch, result] = mine[thread];
    float* row = loss_db.data() + from * (2 * views.size() - from - 1) / 2;
    for (std::size_t to = from + 1; to < views.size(); ++to) {
      trace(town, prepared, views[from], views[to], scratch, result);
      *row++ = static_cast<float>(result.loss_db);
    }
  });
}

}  // namespace shakedown::radio::rays
