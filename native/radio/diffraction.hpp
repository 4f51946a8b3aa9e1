// Diffraction over the ground by ITU-R P.526: what its models are made of. Heights in m above sea level, distances in
// m, excess losses in dB above free space.
#pragma once

#include <cmath>
#include <span>

#include "itm.hpp"

namespace shakedown::radio {

/// Loss over one knife edge, by its parameter of diffraction: P.526-15, equation 31, 0 below -0.78. Within 0.13 dB of
/// the Fresnel integrals above it.
inline double knife_edge_db(double parameter) {
  if (!(parameter > -0.78)) return 0;
  const double v = parameter - 0.1;
  return 6.9 + 20 * std::log10(std::sqrt(v * v + 1) + v);
}

/// A profile between two antennas over the effective earth. `height_m` are of the ground, the ends' are not read.
struct DiffractionPath {
  std::span<const double> height_m;
  double step_m;
  double tx_m, rx_m;                     // antennas above sea level
  double curvature_per_m, wavelength_m;  // of the effective earth: 1 over its radius
  bool smooth = false;                   // heights are all 0: the bare earth under the same points

  [[nodiscard]] double distance_m() const { return step_m * static_cast<double>(height_m.size() - 1); }
  /// Height above the chord of the ends' ground, with the bulge of the earth.
  [[nodiscard]] double raised_m(std::size_t i) const {
    const double from = step_m * static_cast<double>(i), to = distance_m() - from;
    return (smooth ? 0 : height_m[i]) + from * to * (curvature_per_m / 2);
  }
};

/// The edge between two points of the path that stands highest in the Fresnel zone.
struct Edge {
  std::size_t at = 0;  // 0: there is no point between
  double parameter;    // of diffraction
};
/// Between points a and b, of which the ends of the path are the antennas.
Edge main_edge(const DiffractionPath& path, std::size_t a, std::size_t b);

/// Bullington's construction: one edge where the lines from both antennas over their horizons meet, or the main edge of
/// a path in sight. P.526-15, section 4.5.1; P.1812-6, equations 13 to 21.
struct Bullington {
  bool in_sight;
  double parameter, distance_m;  // of the edge, from the transmitter
  double knife_edge_db, correction_db;
  [[nodiscard]] double loss_db() const { return knife_edge_db + correction_db; }
};
Bullington bullington(const DiffractionPath& path);

/// Over the smooth earth: P.526-15, section 3.2; P.1812-6, equations 22 to 36. Heights above it.
struct SphericalEarth {
  double horizon_m;                // distance up to which the antennas see each other
  double clearance_m, required_m;  // smallest, and that of 0.6 of the Fresnel zone; NaN beyond the horizon
  double loss_db;
};
SphericalEarth spherical_earth(double distance_m, double tx_height_m, double rx_height_m, double earth_radius_m,
                               double wavelength_m, const Setting& ground);

/// The straight line that stands for the ground: heights of its ends above sea level, P.1812-6, equations 85 to 90,
/// never above the ground at the antennas.
struct SmoothGround {
  double tx_m, rx_m;
};
SmoothGround smooth_ground(const DiffractionPath& path);

}  // namespace shakedown::radio
