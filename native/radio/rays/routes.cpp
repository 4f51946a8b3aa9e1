#include "routes.hpp"

#include <algorithm>
#include <numbers>

namespace shakedown::radio::rays {
namespace {

/// All stops of one path with their heights, the ground's among them.
struct Course {
  int count = 0;
  Stop stops[6];
};

/// A route at the heights of one straight line over its length. `along_m`: of each stop, from the first.
Course straight_course(const Route& route, const double* along_m) {
  Course course;
  const double low = route.stops[0].z, rise = route.stops[route.count - 1].z - low, whole = along_m[route.count - 1];
  for (int i = 0; i < route.count; ++i) {
    Stop stop = route.stops[i];
    if (i > 0 && i + 1 < route.count) stop.z = low + rise * along_m[i] / whole;
    course.stops[course.count++] = stop;
  }
  return course;
}

/// The same by the ground, which runs straight from below one end to below the other: heights above it go to 0 and
/// back.
Course ground_course(const Link& link, const Route& route, const double* along_m) {
  Course course;
  const Spot &from = link.from.spot, &to = link.to.spot;
  const double whole = along_m[route.count - 1], part = from.height_m / (from.height_m + to.height_m);
  const double touch_m = whole * part, slope = (to.ground_m - from.ground_m) / whole;
  for (int i = 0; i < route.count; ++i) {
    const double at_m = along_m[i];
    if (i > 0 && along_m[i - 1] <= touch_m && touch_m < at_m) {
      const Point before = route.stops[i - 1].at, after = route.stops[i].at;
      const double share = (touch_m - along_m[i - 1]) / (at_m - along_m[i - 1]);
      course.stops[course.count++] = {StopKind::ground, 0, before + (after - before) * share,
                                      from.ground_m + slope * touch_m};
    }
    Stop stop = route.stops[i];
    if (i > 0 && i + 1 < route.count) {
      const double above =
          at_m < touch_m ? from.height_m * (1 - at_m / touch_m) : to.height_m * (at_m - touch_m) / (whole - touch_m);
      stop.z = from.ground_m + slope * at_m + above;
    }
    course.stops[course.count++] = stop;
  }
  return course;
}

/// Whether each stop is on its wall or edge, by height.
bool fits(const Town& town, const Course& course) {
  for (int i = 0; i < course.count; ++i) {
    const Stop& stop = course.stops[i];
    if (stop.kind == StopKind::wall && stop.z >= town.walls()[stop.id].top_m) return false;
    if (stop.kind != StopKind::corner) continue;
    const Corner& corner = town.corners()[stop.id];
    if (stop.z >= corner.top_m || stop.z < corner.low_m) return false;
  }
  return true;
}

/// Whether nothing stands between the stops, nor above one: a path may come down through a roof.
bool clear(const Town& town, const Course& course) {
  for (int i = 1; i < course.count; ++i) {
    const Stop &from = course.stops[i - 1], &to = course.stops[i];
    if (!town.clear(from.at, from.z, to.at, to.z)) return false;
  }
  for (int i = 1; i + 1 < course.count; ++i) {
    const Stop& stop = course.stops[i];
    if (stop.kind == StopKind::wall && !town.is_open(town.walls()[stop.id], stop.at, stop.z)) return false;
    if (stop.kind == StopKind::ground && !town.is_open(stop.at, stop.z)) return false;
  }
  return true;
}

double leg_m(const Stop& from, const Stop& to) { return std::hypot(length(to.at - from.at), to.z - from.z); }

/// The cosine of a ray to a wall's normal, of the leg that reaches it.
double cosine_at(const Wall& wall, const Stop& from, const Stop& to) {
  return std::fabs(dot(wall.outward, to.at - from.at)) / leg_m(from, to);
}

/// Product of the reflections of a course.
Complex reflections(const Link& link, const Course& course) {
  const PreparedRays& prepared = link.prepared;
  Complex product = 1;
  double plane_m = 0;
  for (int i = 1; i < course.count; ++i) plane_m += length(course.stops[i].at - course.stops[i - 1].at);
  for (int i = 1; i + 1 < course.count; ++i) {
    const Stop& stop = course.stops[i];
    if (stop.kind == StopKind::wall) {
      const double cosine = cosine_at(link.town.walls()[stop.id], course.stops[i - 1], stop);
      product *= reflection(prepared.wall_permittivity, cosine, parallel_at_walls(prepared));
    } else if (stop.kind == StopKind::ground) {
      const double high_m = link.from.spot.height_m + link.to.spot.height_m;
      product *=
          reflection(prepared.ground_permittivity, high_m / std::hypot(high_m, plane_m), !parallel_at_walls(prepared));
    }
  }
  return product;
}

/// What a corner does to the field, free space included; 0 where the ray would run inside of the wall.
Complex corner_gain(const Link& link, const Course& course, int at) {
  const Corner& corner = link.town.corners()[course.stops[at].id];
  double before_m = 0, after_m = 0, plane_m = 0;
  for (int i = 1; i < course.count; ++i) {
    (i <= at ? before_m : after_m) += leg_m(course.stops[i - 1], course.stops[i]);
    plane_m += length(course.stops[i].at - course.stops[i - 1].at);
  }
  const double whole_m = before_m + after_m;
  const WedgeRay ray{corner.exterior_rad,
                     std::min(corner.angle_rad(course.stops[at - 1].at), corner.exterior_rad),
                     std::min(corner.angle_rad(course.stops[at + 1].at), corner.exterior_rad),
                     before_m,
                     after_m,
                     plane_m / whole_m};
  const PreparedRays& prepared = link.prepared;
  const Complex wedge =
      wedge_diffraction(ray, prepared.wave_number_per_m, prepared.wall_permittivity, parallel_at_walls(prepared));
  return free_gain(prepared, whole_m) * wedge * std::sqrt(whole_m / (before_m * after_m));
}

void emit(const Link& link, PathKind kind, const Course& course) {
  Trace& result = link.result;
  Path path;
  path.kind = kind;
  path.stops_begin = static_cast<std::uint32_t>(result.stops.size());
  path.gain = reflections(link, course);
  std::size_t walls = 0;
  int corner = 0;
  for (int i = 0; i < course.count; ++i) {
    const Stop& stop = course.stops[i];
    if (i > 0) path.length_m += leg_m(course.stops[i - 1], stop);
    if (stop.kind == StopKind::wall) path.walls[walls++] = stop.id;
    if (stop.kind == StopKind::ground) path.ground = true;
    if (stop.kind == StopKind::corner) {
      path.corner = stop.id;
      corner = i;
      walls = 1;
    }
    result.stops.push_back(stop);
  }
  path.gain *= corner > 0 ? corner_gain(link, course, corner) : free_gain(link.prepared, path.length_m);
  path.stops_end = static_cast<std::uint32_t>(result.stops.size());
  result.paths.push_back(path);
}

}  // namespace

bool parallel_at_walls(const PreparedRays& prepared) {
  return prepared.setting.polarization == Polarization::horizontal;
}

Complex free_gain(const PreparedRays& prepared, double length_m) {
  return std::polar(prepared.wavelength_m / (4 * std::numbers::pi * length_m), -prepared.wave_number_per_m * length_m);
}

void add_route(const Link& link, const Route& route, bool known_clear) {
  double along_m[5] = {0};
  for (int i = 1; i < route.count; ++i) along_m[i] = along_m[i - 1] + length(route.stops[i].at - route.stops[i - 1].at);
  const bool grounded = link.prepared.setting.ground_reflection && along_m[route.count - 1] > kTouch_m;
  const Course straight = straight_course(route, along_m);
  const bool straight_fits = fits(link.town, straight);
  Course low;
  if (grounded) low = ground_course(link, route, along_m);
  const bool low_fits = grounded && fits(link.town, low);
  if (!straight_fits && !low_fits) return;
  // What stands in its way stands in that of the lower one too.
  if (!known_clear && !clear(link.town, straight)) return;
  if (straight_fits) emit(link, route.kind, straight);
  if (low_fits && clear(link.town, low)) emit(link, route.kind, low);
}

}  // namespace shakedown::radio::rays
