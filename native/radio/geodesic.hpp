// Shortest paths on the WGS84 ellipsoid, cheap enough for millions of links: a place is prepared once, a path costs
// two dozen multiplications and three roots, and becomes a cubic in the grid of the terrain.
//
// Distance and directions come from the chord: the length of the arc over it with the curvature of the ellipsoid in the
// direction of the path (Euler's theorem), and the directions at both ends from those of the chord. Held to exact
// geodesics (geodesic_test.cpp): lengths within 2e-10 of themselves to 200 km, 2e-7 to 1,000 km, 2e-6 to 2,000 km;
// points of the path within 3 m to 200 km up to latitudes of 70 degrees (0.6 m up to 60), 10 m to 300 km.
#pragma once

namespace shakedown::radio {

/// A place with what its paths need. Angles in degrees.
struct GeoPlace {
  double latitude_deg, longitude_deg;
  double from_centre_m[3];                         // of the Earth, at height 0
  double east[3], north[3];                        // directions there
  double per_meridian_m, per_normal_m;             // curvatures along the meridian and across
  double latitude_deg_per_m, longitude_deg_per_m;  // northwards and eastwards
};
GeoPlace geo_place(double latitude_deg, double longitude_deg);

/// A path: its length, and how fast latitude and longitude change along it at both ends, for the whole of it.
struct Geodesic {
  double length_m;
  double latitude_deg[2], longitude_deg[2];
};
/// The places differ by less than a quarter of the way around the Earth. Equal places: length 0.
Geodesic geodesic_between(const GeoPlace& from, const GeoPlace& to);

/// The terms of the cubic in t, from 0 to 1, that begins and ends with these values and slopes (Hermite's).
struct Cubic {
  double c[4];
};
inline Cubic cubic_of(double begin, double end, double slope_begin, double slope_end) {
  return {{begin, slope_begin, 3 * (end - begin) - 2 * slope_begin - slope_end,
           2 * (begin - end) + slope_begin + slope_end}};
}

}  // namespace shakedown::radio
