// What the files of the models share: their entries in the table, ranges, and free space.
#pragma once

#include <cmath>

#include "diffraction.hpp"
#include "models.hpp"

namespace shakedown::radio {

inline constexpr double kAny = std::numeric_limits<double>::infinity();
inline constexpr double kLight_m_per_s = 299'792'458;
inline constexpr double kEarth_m = 6'371'000;
/// Any distance on the earth, and any height of an antenna: up to half its girth, and 1000 km.
inline constexpr double kFarthest_m = 20.1e6, kHighest_m = 1e6;
inline constexpr Range kAnyDistance{0, kAny, 0, kFarthest_m}, kAnyHeight{0, kAny, 0, kHighest_m};
inline constexpr Range kAnyFrequency{1, 1e6, 1, 1e6};

/// Ground at the ends, and the straight line between the antennas.
inline double ground_distance_m(const RadioPath& path) {
  return path.step_m * static_cast<double>(path.profile_m.size() - 1);
}
inline double slant_distance_m(const RadioPath& path) {
  return std::hypot(ground_distance_m(path),
                    path.profile_m.back() + path.rx_height_m - path.profile_m.front() - path.tx_height_m);
}

/// ITU-R P.525-4, equation 3: 20 log(4 pi d / lambda).
inline double free_space_db(double distance_m, double wavelength_m) {
  return 20 * std::log10(4 * M_PI * distance_m / wavelength_m);
}

inline double higher_m(const RadioPath& path) {
  return path.tx_height_m > path.rx_height_m ? path.tx_height_m : path.rx_height_m;
}
inline double lower_m(const RadioPath& path) {
  return path.tx_height_m > path.rx_height_m ? path.rx_height_m : path.tx_height_m;
}

/// Specific attenuation and the most that a wood attenuates, into the prepared model.
void prepare_woodland(PreparedModel& prepared);

/// The profile of a path over the effective earth of a setting.
DiffractionPath diffraction_path(const PreparedModel& prepared, const RadioPath& path);

extern const Model kItm, kFreeSpace, kTwoRay, kTwoRayInterference, kTwoRayEmane, kKnifeEdge, kDeygout, kDeygoutP526,
    kBullington, kDeltaBullington, kSphericalEarth, kHata, kCost231Hata, kWalfischIkegami, kWalfischIkegamiStreet,
    kLogDistance, kRays;
extern const Addition kGas, kWoodland, kWeissberger;

}  // namespace shakedown::radio
