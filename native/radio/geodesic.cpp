#include "geodesic.hpp"

#include <algorithm>
#include <cmath>

namespace shakedown::radio {
namespace {

// WGS84 (NIMA TR8350.2).
constexpr double kEquator_m = 6'378'137, kFlattening = 1 / 298.257223563;
constexpr double kEccentricity2 = kFlattening * (2 - kFlattening);
constexpr double kDegrees = 57.295779513082320877;

double dot(const double (&a)[3], const double (&b)[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// How a chord leaves or reaches a place: north and east shares of its direction along the ground, and the curvature of
/// the ellipsoid in that direction (Euler).
struct Heading {
  double north, east, curvature_per_m;
};
Heading heading_at(const GeoPlace& place, const double (&chord)[3]) {
  const double north = dot(chord, place.north), east = dot(chord, place.east);
  const double whole = std::sqrt(north * north + east * east), part = whole > 0 ? 1 / whole : 0;
  const Heading heading{north * part, east * part, 0};
  return {heading.north, heading.east,
          heading.north * heading.north * place.per_meridian_m + heading.east * heading.east * place.per_normal_m};
}

}  // namespace

GeoPlace geo_place(double latitude_deg, double longitude_deg) {
  const double latitude = latitude_deg / kDegrees, longitude = longitude_deg / kDegrees;
  const double s = std::sin(latitude), c = std::cos(latitude), sl = std::sin(longitude), cl = std::cos(longitude);
  const double w2 = 1 - kEccentricity2 * s * s, normal_m = kEquator_m / std::sqrt(w2);
  const double meridian_m = normal_m * (1 - kEccentricity2) / w2;
  const double to_axis_m = std::max(normal_m * c, 1e-3);  // of a pole: any longitude will do
  return {
      latitude_deg, longitude_deg,         {normal_m * c * cl, normal_m * c * sl, normal_m * (1 - kEccentricity2) * s},
      {-sl, cl, 0}, {-s * cl, -s * sl, c}, 1 / meridian_m,
      1 / normal_m, kDegrees / meridian_m, kDegrees / to_axis_m};
}

Geodesic geodesic_between(const GeoPlace& from, const GeoPlace& to) {
  const double chord[3] = {to.from_centre_m[0] - from.from_centre_m[0], to.from_centre_m[1] - from.from_centre_m[1],
                           to.from_centre_m[2] - from.from_centre_m[2]};
  const Heading begin = heading_at(from, chord), end = heading_at(to, chord);
  const double chord_m = std::sqrt(dot(chord, chord));
  // s = 2/k asin(c k / 2), by its series: the first term left out is 6e-10 of s at 1,000 km, 1e-7 at 2,500.
  const double half = 0.25 * chord_m * (begin.curvature_per_m + end.curvature_per_m), q = half * half;
  const double length_m =
      chord_m * (1 + q * (1.0 / 6 + q * (3.0 / 40 + q * (15.0 / 336 + q * (105.0 / 3456 + q * (945.0 / 42240))))));
  return {length_m,
          {length_m * begin.north * from.latitude_deg_per_m, length_m * end.north * to.latitude_deg_per_m},
          {length_m * begin.east * from.longitude_deg_per_m, length_m * end.east * to.longitude_deg_per_m}};
}

}  // namespace shakedown::radio
