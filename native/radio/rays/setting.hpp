// What all paths of rays have in common: the values that a person may set.
#pragma once

#include "coefficients.hpp"

namespace shakedown::radio::rays {

enum class Sum { coherent, power };  // of the fields with their phases, or of the powers of the paths

struct RaySetting {
  double frequency_mhz = 450;
  Polarization polarization = Polarization::vertical;
  WallMaterial walls = WallMaterial::concrete;
  Material ground = {15, 0.005};
  int reflections = 2;         // most from walls, 0 to 2
  int corner_reflections = 1;  // most from walls on a path round a corner, 0 or 1
  int roof_reflections = 1;    // most from walls on a path over roofs, 0 or 1
  bool ground_reflection = true, corners = true, roofs = true;
  Sum sum = Sum::coherent;
};

}  // namespace shakedown::radio::rays
