// How much of a field a wall, the ground and a corner leave: reflection and diffraction.
#pragma once

#include <complex>

#include "../itm.hpp"

namespace shakedown::radio::rays {

using Complex = std::complex<double>;

struct Material {
  double permittivity;  // relative
  double conductivity_s_per_m;
};

/// What walls are made of: ITU-R P.2040-3, table 3. `perfect` conducts without loss.
enum class WallMaterial { concrete, brick, wood, glass, metal, perfect };
inline constexpr const char* kWallMaterials[] = {"concrete", "brick", "wood", "glass", "metal", "perfect"};
Material material_of(WallMaterial walls, double frequency_mhz);

/// Relative, with fields that go as exp(+j omega t): e - j sigma / (omega e0).
Complex complex_permittivity(const Material& material, double frequency_mhz);

/// Fresnel's coefficient of a half-space for a field across the plane of incidence (`parallel` false) or in it, at the
/// angle whose cosine to the normal is given; ITU-R P.2040-3, eq. 31a and 31b. A perfect conductor: -1 and +1.
Complex reflection(Complex permittivity, double cosine, bool parallel);

/// The transition function of Kouyoumjian and Pathak 1974, eq. 27, for x >= 0.
Complex transition(double x);

/// A wedge as a ray sees it that comes from `from_rad` and leaves to `to_rad`, both from the same face through the air.
struct WedgeRay {
  double exterior_rad;  // of the air between both faces: above pi
  double from_rad, to_rad;
  double from_m, to_m;  // along the ray, from and to the edge
  double sine_to_edge;  // of the angle between ray and edge
};
/// What is multiplied to the incident field's value at the edge and to sqrt(s' / (s (s' + s))): README.md says whose.
Complex wedge_diffraction(const WedgeRay& ray, double wave_number_per_m, Complex permittivity, bool parallel);

}  // namespace shakedown::radio::rays
