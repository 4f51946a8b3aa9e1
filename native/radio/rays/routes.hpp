// From a route in the plane to paths: heights, what stands between, gains. Private to the ray tracer.
#pragma once

#include "rays.hpp"

namespace shakedown::radio::rays {

/// Two radios and where their paths go.
struct Link {
  const Town& town;
  const PreparedRays& prepared;
  const View& from;
  const View& to;
  TraceScratch& scratch;
  Trace& result;
};

/// The stops of a path in the plane, with both ends; the heights between them are found later.
struct Route {
  PathKind kind;
  int count = 0;
  Stop stops[5];
  explicit Route(PathKind of) : kind(of) {}
  void add(const Stop& stop) { stops[count++] = stop; }
};

/// Whether a point of a wall's line lies between the wall's ends.
inline bool within(const Wall& wall, Point at) {
  const double along_m = wall.along_m(at);
  return along_m > 0 && along_m < wall.length_m;
}

/// Where a wall reflects a ray between two points; false where it does not: they are not both in front of it, or the
/// point lies beyond its ends.
inline bool mirror_point(const Wall& wall, Point from, Point to, Point& mirror) {
  const double from_m = wall.distance_m(from), to_m = wall.distance_m(to);
  if (from_m <= kTouch_m || to_m <= kTouch_m) return false;
  const double along_m = (wall.along_m(from) * to_m + wall.along_m(to) * from_m) / (from_m + to_m);
  mirror = wall.a + wall.along * along_m;
  return along_m > 0 && along_m < wall.length_m;
}

/// Adds the path of a route over walls and corners, and the one that the ground reflects too. `known_clear`: nothing
/// stands in the way of the first.
void add_route(const Link& link, const Route& route, bool known_clear = false);

/// Adds the straight path, over roofs where they stand in its way, and its reflection from the ground.
void add_straight(const Link& link);

/// Adds the paths over roofs that a wall reflects, which one of the radios sees.
void add_reflected_over_roofs(const Link& link);

/// Of paths over roofs: the loss of the knife edges of a profile, by ITU-R P.526-15, 4.4 (Deygout's construction with
/// one edge on each side of the main one). Edges in order; heights of both ends, the path's length over the plane.
double edges_loss_db(std::span<const RoofEdge> edges, double from_z, double to_z, double length_m, double wavelength_m);

/// Whether the field lies in the plane of incidence at walls, which stand upright: a vertical one lies along them.
bool parallel_at_walls(const PreparedRays& prepared);

/// The field's gain over a free path: lambda / (4 pi length), with its phase.
Complex free_gain(const PreparedRays& prepared, double length_m);

}  // namespace shakedown::radio::rays
