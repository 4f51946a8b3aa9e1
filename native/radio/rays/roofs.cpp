// Paths in the vertical plane over roofs: knife edges for the loss, a taut string over them for the length.
#include <algorithm>
#include <numbers>

#include "../diffraction.hpp"
#include "routes.hpp"

namespace shakedown::radio::rays {
namespace {

struct Peak {
  std::size_t at = 0;
  double nu = -1e300;
};

/// The edge that stands highest between two points, by Fresnel's parameter; of [first, last).
Peak highest(std::span<const RoofEdge> edges, std::size_t first, std::size_t last, double from_m, double from_z,
             double to_m, double to_z, double wavelength_m) {
  Peak peak;
  for (std::size_t i = first; i < last; ++i) {
    const double before = edges[i].distance_m - from_m, after = to_m - edges[i].distance_m;
    if (before <= 0 || after <= 0) continue;  // another wall at the same place
    const double above = edges[i].top_m - (from_z * after + to_z * before) / (before + after);
    const double nu = above * std::sqrt(2 * (before + after) / (wavelength_m * before * after));
    if (nu > peak.nu) peak = {i, nu};
  }
  return peak;
}

/// The crossings of a leg as edges of a path, this far along it.
void append_edges(const std::vector<Crossing>& crossings, double begin_m, double leg_m, std::vector<RoofEdge>& edges) {
  for (const Crossing& one : crossings) edges.push_back({begin_m + one.part * leg_m, one.top_m, one.wall});
}

/// The edges that a string between both ends lies on, pulled tight, in order: the upper hull.
void pull_tight(std::span<const RoofEdge> edges, double from_z, double to_z, double length_m,
                std::vector<RoofEdge>& string) {
  string.clear();
  string.push_back({0, from_z, Town::kNone});
  const auto add = [&](const RoofEdge& next) {
    while (string.size() > 1) {
      const RoofEdge &before = string[string.size() - 2], &last = string.back();
      const double turn = (last.distance_m - before.distance_m) * (next.top_m - before.top_m) -
                          (last.top_m - before.top_m) * (next.distance_m - before.distance_m);
      if (turn < 0) break;
      string.pop_back();
    }
    string.push_back(next);
  };
  for (const RoofEdge& edge : edges) add(edge);
  add({length_m, to_z, Town::kNone});
}

double leg_m(const RoofEdge& from, const RoofEdge& to) {
  return std::hypot(to.distance_m - from.distance_m, to.top_m - from.top_m);
}

struct Mirror {
  std::uint32_t wall = Town::kNone;
  Point at;
  double distance_m = 0;
};

/// Height of the string at a distance, and of the leg that is there its length over the plane's.
double string_height(std::span<const RoofEdge> string, double distance_m, double& stretch) {
  std::size_t next = 1;
  while (next + 1 < string.size() && string[next].distance_m <= distance_m) ++next;
  const RoofEdge &from = string[next - 1], &to = string[next];
  const double plane_m = to.distance_m - from.distance_m;
  stretch = leg_m(from, to) / plane_m;
  return from.top_m + (to.top_m - from.top_m) * (distance_m - from.distance_m) / plane_m;
}

/// The point of the plane at a distance along the legs.
Point point_at(const Link& link, const Mirror& mirror, double whole_m, double distance_m) {
  const Point from = link.from.spot.at, to = link.to.spot.at;
  if (mirror.wall == Town::kNone) return from + (to - from) * (distance_m / whole_m);
  if (distance_m <= mirror.distance_m) return from + (mirror.at - from) * (distance_m / mirror.distance_m);
  return mirror.at + (to - mirror.at) * ((distance_m - mirror.distance_m) / (whole_m - mirror.distance_m));
}

/// Adds the path along the scratch's string over its edges.
void add_string(const Link& link, const Mirror& mirror, double mirror_z, double cosine, double whole_m) {
  Trace& result = link.result;
  const std::vector<RoofEdge>& string = link.scratch.string;
  Path path;
  path.kind = PathKind::roof;
  path.stops_begin = static_cast<std::uint32_t>(result.stops.size());
  for (std::size_t i = 0; i < string.size(); ++i) {
    const RoofEdge& edge = string[i];
    const bool passed = i > 0 && string[i - 1].distance_m < mirror.distance_m && mirror.distance_m < edge.distance_m;
    if (mirror.wall != Town::kNone && passed) {
      result.stops.push_back({StopKind::wall, mirror.wall, mirror.at, mirror_z});
    }
    if (i > 0) path.length_m += leg_m(string[i - 1], edge);
    const bool end = i == 0 || i + 1 == string.size();
    result.stops.push_back({end ? StopKind::end : StopKind::roof, end ? (i == 0 ? 0U : 1U) : edge.wall,
                            point_at(link, mirror, whole_m, edge.distance_m), edge.top_m});
  }
  path.stops_end = static_cast<std::uint32_t>(result.stops.size());
  path.diffraction_db =
      edges_loss_db(link.scratch.edges, string.front().top_m, string.back().top_m, whole_m, link.prepared.wavelength_m);
  path.gain = free_gain(link.prepared, path.length_m) * std::pow(10, -path.diffraction_db / 20);
  if (mirror.wall != Town::kNone) {
    path.walls[0] = mirror.wall;
    path.gain *= reflection(link.prepared.wall_permittivity, cosine, parallel_at_walls(link.prepared));
  }
  result.paths.push_back(path);
}

/// A path over roofs by a wall that these radios may see.
void add_reflected(const Link& link, std::uint32_t at, bool from_may, bool to_may) {
  const Wall& wall = link.town.walls()[at];
  const Spot &from = link.from.spot, &to = link.to.spot;
  Mirror mirror{at, {}, 0};
  if (!mirror_point(wall, from.at, to.at, mirror.at)) return;
  const double before_m = length(mirror.at - from.at), after_m = length(to.at - mirror.at),
               whole_m = before_m + after_m;
  if (from.z() + (to.z() - from.z()) * before_m / whole_m >= wall.top_m) return;  // a string is no lower
  // The string comes to the wall below its top, from a radio that sees this point; and that sees the top above it too.
  if (!(from_may && link.town.clear(from.at, from.z(), mirror.at, wall.top_m)) &&
      !(to_may && link.town.clear(to.at, to.z(), mirror.at, wall.top_m))) {
    return;
  }
  mirror.distance_m = before_m;
  TraceScratch& scratch = link.scratch;
  scratch.edges.clear();
  link.town.cross(from.at, mirror.at, scratch.crossings);
  append_edges(scratch.crossings, 0, before_m, scratch.edges);
  link.town.cross(mirror.at, to.at, scratch.crossings);
  append_edges(scratch.crossings, before_m, after_m, scratch.edges);
  pull_tight(scratch.edges, from.z(), to.z(), whole_m, scratch.string);
  const std::vector<RoofEdge>& string = scratch.string;
  if (string.size() < 3) return;  // nothing in its way
  const bool all_before = string[string.size() - 2].distance_m<before_m, all_after = string[1].distance_m> before_m;
  if (!all_before && !all_after) return;  // neither radio sees the wall
  double stretch = 1;
  const double height = string_height(string, before_m, stretch);
  if (height >= wall.top_m || !link.town.is_open(wall, mirror.at, height)) return;
  const double cosine = std::fabs(dot(wall.outward, mirror.at - from.at)) / before_m / stretch;
  add_string(link, mirror, height, cosine, whole_m);
}

}  // namespace

double edges_loss_db(std::span<const RoofEdge> edges, double from_z, double to_z, double length_m,
                     double wavelength_m) {
  const Peak main = highest(edges, 0, edges.size(), 0, from_z, length_m, to_z, wavelength_m);
  const double main_db = knife_edge_db(main.nu);
  if (main_db <= 0) return 0;
  const RoofEdge& edge = edges[main.at];
  const Peak before = highest(edges, 0, main.at, 0, from_z, edge.distance_m, edge.top_m, wavelength_m);
  const Peak after =
      highest(edges, main.at + 1, edges.size(), edge.distance_m, edge.top_m, length_m, to_z, wavelength_m);
  return main_db + (1 - std::exp(-main_db / 6)) * (knife_edge_db(before.nu) + knife_edge_db(after.nu));
}

void add_straight(const Link& link) {
  const Spot &from = link.from.spot, &to = link.to.spot;
  const double whole_m = length(to.at - from.at);
  TraceScratch& scratch = link.scratch;
  scratch.edges.clear();
  scratch.crossings.clear();
  if (whole_m > kTouch_m) link.town.cross(from.at, to.at, scratch.crossings);
  append_edges(scratch.crossings, 0, whole_m, scratch.edges);
  bool blocked = false;
  for (const RoofEdge& edge : scratch.edges) {
    blocked = blocked || from.z() + (to.z() - from.z()) * edge.distance_m / whole_m < edge.top_m;
  }
  if (!blocked) {
    Route route(PathKind::direct);
    route.add({StopKind::end, 0, from.at, from.z()});
    route.add({StopKind::end, 1, to.at, to.z()});
    const std::size_t first = link.result.paths.size();
    add_route(link, route, true);
    if (!link.prepared.setting.roofs) return;
    Path& path = link.result.paths[first];
    path.diffraction_db = edges_loss_db(scratch.edges, from.z(), to.z(), whole_m, link.prepared.wavelength_m);
    path.gain *= std::pow(10, -path.diffraction_db / 20);
  } else if (link.prepared.setting.roofs) {
    pull_tight(scratch.edges, from.z(), to.z(), whole_m, scratch.string);
    add_string(link, {}, 0, 0, whole_m);
  }
}

void add_reflected_over_roofs(const Link& link) {
  const std::vector<std::uint32_t>&one = link.from.walls, &other = link.to.walls;
  auto first = one.begin(), second = other.begin();
  while (first != one.end() || second != other.end()) {
    const std::uint32_t next_one = first != one.end() ? *first : Town::kNone;
    const std::uint32_t next_other = second != other.end() ? *second : Town::kNone;
    if (next_one <= next_other) ++first;
    if (next_other <= next_one) ++second;
    add_reflected(link, std::min(next_one, next_other), next_one <= next_other, next_other <= next_one);
  }
}

}  // namespace shakedown::radio::rays
