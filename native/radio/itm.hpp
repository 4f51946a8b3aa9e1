// The Irregular Terrain Model (Longley-Rice), version 1.4 of NTIA: the loss of a radio path of 20 MHz to 20 GHz over
// terrain. The interface, on one screen; README.md says where each formula comes from.
//
//   Atmosphere, ground, frequency, variability  -> Setting::make  checks them once
//   a profile of heights and two antennas       -> point_to_point (one link), Loops::links (many at once)
//   no profile but how rough the land is        -> area
//
// Errors and warnings are those of the reference, by number: an error leaves no loss, a warning leaves one that the
// model does not vouch for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace shakedown::radio {

enum class Polarization { horizontal, vertical };

/// Numbers of the reference: the meaning of each is in words_of.
enum class ItmError : int {
  none = 0,
  tx_height = 1000,
  rx_height = 1001,
  climate = 1002,
  time = 1003,
  location = 1004,
  situation = 1005,
  confidence = 1006,
  reliability = 1007,
  refractivity = 1008,
  frequency = 1009,
  polarization = 1010,
  permittivity = 1011,
  conductivity = 1012,
  ground_impedance = 1013,
  variability_mode = 1014,
  effective_earth = 1016,
  path_distance = 1017,
  delta_h = 1018,
  tx_siting = 1019,
  rx_siting = 1020,
  surface_refractivity_small = 1021,
  surface_refractivity_large = 1022,
};

/// Bits of the reference's warnings.
enum ItmWarning : std::uint32_t {
  kTxHeightUnusual = 0x1,
  kRxHeightUnusual = 0x2,
  kFrequencyUnusual = 0x4,
  kPathTooLong1 = 0x8,     // above 1,000 km
  kPathTooLong2 = 0x10,    // above 2,000 km
  kPathTooShort1 = 0x20,   // antennas differ in height by more than a fifth of the path
  kPathTooShort2 = 0x40,   // below 1 km
  kTxHorizonAngle = 0x80,  // above 0.2 rad
  kRxHorizonAngle = 0x100,
  kTxHorizonNear = 0x200,  // below a tenth of the smooth earth's
  kRxHorizonNear = 0x400,
  kTxHorizonFar = 0x800,  // above three times the smooth earth's
  kRxHorizonFar = 0x1000,
  kExtremeVariability = 0x2000,
  kSurfaceRefractivity = 0x4000,
};

/// One line for a person: what the error or the warning (one bit) says, and what is allowed.
std::string words_of(ItmError error);
std::string words_of(ItmWarning warning);

/// What all links of a calculation have in common.
struct Setting {
  double frequency_mhz = 450;
  Polarization polarization = Polarization::vertical;
  double permittivity = 15;             // of the ground, relative
  double conductivity_s_per_m = 0.005;  // of the ground
  int climate = 5;                      // 1 equatorial ... 5 continental temperate ... 7 maritime temperate over sea
  double refractivity_n = 301;          // of the surface, reduced to sea level
  int variability_mode = 12;            // mdvar: 0 to 3, +10 without location, +20 without situation variability
  double time_percent = 50, location_percent = 50, situation_percent = 50;
};

enum class Mode : int { line_of_sight = 1, diffraction = 2, troposcatter = 3 };

/// The loss of one link with the steps that led to it; what an error left unknown is NaN.
struct ItmResult {
  ItmError error = ItmError::none;
  std::uint32_t warnings = 0;
  double loss_db = 0;       // of the path between isotropic antennas, free space included
  double reference_db = 0;  // the median of the reference climate, above free space
  double free_space_db = 0;
  double distance_m = 0;
  Mode mode = Mode::line_of_sight;  // by distance and the smooth earth's horizon alone, as in the reference
  double horizon_rad[2] = {0, 0};   // elevation of the horizon, of the transmitter and of the receiver
  double horizon_m[2] = {0, 0};
  double effective_height_m[2] = {0, 0};
  double surface_refractivity_n = 0;
  double delta_h_m = 0;  // terrain irregularity
};

/// One link over a profile: heights above sea level at equal steps from the transmitter to the receiver, two or more;
/// antenna heights above ground. Throws a usage error for fewer than two heights, a step that is not above 0, or a
/// number that is not finite, which the reference does not check.
ItmResult point_to_point(const Setting& setting, double tx_height_m, double rx_height_m,
                         std::span<const double> profile_m, double step_m);

/// The same by confidence and reliability (percent): time is the reliability, situation the confidence, location 50.
ItmResult point_to_point_confidence(Setting setting, double confidence_percent, double reliability_percent,
                                    double tx_height_m, double rx_height_m, std::span<const double> profile_m,
                                    double step_m);

/// What a place is like where no profile is known.
struct AreaPath {
  double tx_height_m, rx_height_m;
  double distance_km;
  double delta_h_m;
  int tx_siting = 0, rx_siting = 0;  // 0 random, 1 careful, 2 very careful
};
ItmResult area(const Setting& setting, const AreaPath& path);
ItmResult area_confidence(Setting setting, double confidence_percent, double reliability_percent, const AreaPath& path);

}  // namespace shakedown::radio
