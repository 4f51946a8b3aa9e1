// The Irregular Terrain Model in the table of models.
#include "common/error.hpp"
#include "itm_setting.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz",    "polarization",     "permittivity",     "conductivity_s_per_m",
                                  "climate",          "refractivity_n",   "variability_mode", "time_percent",
                                  "location_percent", "situation_percent"};

constexpr TermMeaning kTerms[] = {
    {"free_space_db", true, "spreading: 32.45 + 20 log f + 20 log d, along the ground", "ITM 1.4, S12"},
    {"reference_db", true, "median above free space: line of sight, diffraction or scatter", "ITM 1.4, S8 to S11"},
    {"variability_db", true, "of climate, time, location and situation", "ITM 1.4, S13"},
    {"mode", false, "1 line of sight, 2 diffraction, 3 troposcatter; by distance and the smooth earth alone",
     "ITM 1.4, S10, S11"},
    {"tx_horizon_rad", false, "elevation of the transmitter's horizon", "ITM 1.4, S3"},
    {"rx_horizon_rad", false, "elevation of the receiver's horizon", "ITM 1.4, S3"},
    {"tx_horizon_m", false, "distance of the transmitter's horizon from it", "ITM 1.4, S3, S7"},
    {"rx_horizon_m", false, "distance of the receiver's horizon from it", "ITM 1.4, S3, S7"},
    {"tx_effective_height_m", false, "of the transmitter above the fitted ground", "ITM 1.4, S7"},
    {"rx_effective_height_m", false, "of the receiver above the fitted ground", "ITM 1.4, S7"},
    {"terrain_irregularity_m", false, "delta h: between the deciles about the fitted line", "ITM 1.4, S5"},
    {"surface_refractivity_n", false, "N-units at the height of the path", "ITM 1.4, S2"},
};

void check_itm(const ModelSetting& setting) {
  std::uint32_t warnings = 0;
  ItmError error = check(setting.radio, warnings);
  if (error == ItmError::none && bad_ground(prepare(setting.radio))) error = ItmError::ground_impedance;
  if (error != ItmError::none) throw usage("the model itm: " + words_of(error), "change the setting");
}

void loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const ItmResult found =
      point_to_point(prepared.setting.radio, path.tx_height_m, path.rx_height_m, path.profile_m, path.step_m);
  result.warnings |= found.warnings;
  result.itm_error = found.error;
  if (found.error != ItmError::none) {
    result.error = PathError::itm;
    return;
  }
  result.loss_db = found.loss_db;
  result.add("free_space_db", found.free_space_db);
  result.add("reference_db", found.reference_db);
  result.add("variability_db", found.loss_db - found.free_space_db - found.reference_db);
  result.add("mode", static_cast<double>(found.mode));
  result.add("tx_horizon_rad", found.horizon_rad[0]);
  result.add("rx_horizon_rad", found.horizon_rad[1]);
  result.add("tx_horizon_m", found.horizon_m[0]);
  result.add("rx_horizon_m", found.horizon_m[1]);
  result.add("tx_effective_height_m", found.effective_height_m[0]);
  result.add("rx_effective_height_m", found.effective_height_m[1]);
  result.add("terrain_irregularity_m", found.delta_h_m);
  result.add("surface_refractivity_n", found.surface_refractivity_n);
}

}  // namespace

const Model kItm{
    .name = "itm",
    .title = "Irregular Terrain Model (Longley-Rice)",
    .source = "NTIA, ITM 1.4",
    .about = "any terrain, by its profile, with the variability of climate, time and place",
    .frequency_mhz = {40, 10e3, 20, 20e3},
    .distance_m = {1e3, 1e6, 0, kFarthest_m},
    .higher_m = {1, 1000, 0.5, 3000},
    .lower_m = {1, 1000, 0.5, 3000},
    .uses_profile = true,
    .warns_itself = true,
    .parameters = kReads,
    .terms = kTerms,
    .check = check_itm,
    .loss = loss,
};

}  // namespace shakedown::radio
