// COST 231 Walfisch-Ikegami: over the roofs of a town, and along a street in sight.
#include "common/error.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kStreetReads[] = {"frequency_mhz"};
constexpr const char* kRoofReads[] = {"frequency_mhz",  "surroundings",       "roof_m",
                                      "street_width_m", "building_spacing_m", "street_angle_deg"};

constexpr TermMeaning kStreetTerms[] = {
    {"street_db", true, "42.6 + 26 log d + 20 log f: along a street canyon in sight, free space at 20 m",
     "COST 231 final report, equation 4.4.6"},
};

void street_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  result.loss_db =
      42.6 + 26 * std::log10(ground_distance_m(path) / 1000) + 20 * std::log10(prepared.setting.radio.frequency_mhz);
  result.add("street_db", result.loss_db);
}

constexpr TermMeaning kRoofTerms[] = {
    {"free_space_db", true, "32.4 + 20 log d + 20 log f", "COST 231 final report, equation 4.4.8"},
    {"roof_to_street_db", true, "diffraction from the last roof into the street, and its scatter",
     "COST 231 final report, equation 4.4.9"},
    {"roofs_db", true, "diffraction over the rows of roofs", "COST 231 final report, equation 4.4.12"},
    {"taken_back_db", true, "where roof and street together would give less than free space",
     "COST 231 final report, equation 4.4.7"},
};

/// By the angle between the street and the path: COST 231 final report, equation 4.4.10. Some texts print phi - 35 in
/// the last form; only phi - 55 is continuous.
double orientation_db(double degrees) {
  if (degrees < 35) return -10 + 0.354 * degrees;
  if (degrees < 55) return 2.5 + 0.075 * (degrees - 35);
  return 4 - 0.114 * (degrees - 55);
}

/// Diffraction over many screens: equations 4.4.12 to 4.4.17. `above` is the base's height over the roofs.
double roofs_db(const ModelSetting& setting, double above_m, double distance_km) {
  const double f = setting.radio.frequency_mhz, roof = setting.roof_m;
  const bool over = above_m > 0;
  const double base = over ? -18 * std::log10(1 + above_m) : 0;
  const double by_place = over ? 54 : 54 - (distance_km >= 0.5 ? 0.8 : 1.6 * distance_km) * above_m;
  const double per_decade = over ? 18 : 18 - 15 * above_m / roof;
  const double city = setting.surroundings == Surroundings::metropolitan ? 1.5 : 0.7;
  const double by_frequency = -4 + city * (f / 925 - 1);
  return base + by_place + per_decade * std::log10(distance_km) + by_frequency * std::log10(f) -
         9 * std::log10(setting.building_spacing_m);
}

void roof_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const ModelSetting& setting = prepared.setting;
  const double f = setting.radio.frequency_mhz, d = ground_distance_m(path) / 1000,
               below = setting.roof_m - lower_m(path);
  if (!(below > 0)) {
    result.error = PathError::above_roofs;
    return;
  }
  const double free = 32.4 + 20 * std::log10(d) + 20 * std::log10(f);
  const double street = -16.9 - 10 * std::log10(setting.street_width_m) + 10 * std::log10(f) + 20 * std::log10(below) +
                        orientation_db(setting.street_angle_deg);
  const double roofs = roofs_db(setting, higher_m(path) - setting.roof_m, d);
  const double back = street + roofs > 0 ? 0 : -(street + roofs);
  result.add("free_space_db", free);
  result.add("roof_to_street_db", street);
  result.add("roofs_db", roofs);
  result.add("taken_back_db", back);
  result.loss_db = free + street + roofs + back;
}

void check_roofs(const ModelSetting& setting) {
  if (setting.surroundings == Surroundings::open) {
    throw usage("the model walfisch_ikegami has no loss for open country", "choose suburban, urban or metropolitan");
  }
}

constexpr Range kFrequency{800, 2000, 100, 6000}, kTown{20, 5e3, 0, kFarthest_m};
constexpr Range kBase{4, 50, 0.1, kHighest_m}, kMobile{1, 3, 0.1, kHighest_m};

}  // namespace

const Model kWalfischIkegami{
    .name = "walfisch_ikegami",
    .title = "COST 231 Walfisch-Ikegami over the roofs",
    .source = "COST 231 final report, 1999, section 4.4.2",
    .about =
        "a town by its roofs and streets, from a base near or above the roofs down into a street out of sight; the "
        "higher antenna is the base; no terrain",
    .frequency_mhz = kFrequency,
    .distance_m = kTown,
    .higher_m = kBase,
    .lower_m = kMobile,
    .at_least_free_space = true,
    .parameters = kRoofReads,
    .terms = kRoofTerms,
    .check = check_roofs,
    .loss = roof_loss,
};

const Model kWalfischIkegamiStreet{
    .name = "walfisch_ikegami_street",
    .title = "COST 231 Walfisch-Ikegami along a street",
    .source = "COST 231 final report, 1999, section 4.4.2",
    .about = "both antennas in one street, in sight of each other",
    .frequency_mhz = kFrequency,
    .distance_m = kTown,
    .higher_m = kBase,
    .lower_m = kMobile,
    .at_least_free_space = true,
    .parameters = kStreetReads,
    .terms = kStreetTerms,
    .loss = street_loss,
};

}  // namespace shakedown::radio
