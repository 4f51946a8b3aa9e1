// Models of radio path loss by name: what each needs, where it holds, and its loss with every term. The interface, on
// one screen; README.md has the formulas.
//
//   "itm", "hata", "two_ray+gas" ...  -> prepare_model   checks the setting once
//   a path                            -> path_loss       no allocation: for millions of links; itm has Loops for those
//   what there is                     -> models, model_parameters, models_json
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.hpp"
#include "itm.hpp"
#include "rays/setting.hpp"

namespace shakedown::radio {

enum class Surroundings { open, suburban, urban, metropolitan };

/// What all links of a calculation have in common. A model reads what it needs: Model::parameters names it.
struct ModelSetting {
  Setting radio;                  // frequency, polarization and ground; climate and variability are ITM's alone
  double earth_factor = 4.0 / 3;  // radius of the effective earth over 6371 km; ITM has refractivity_n
  Surroundings surroundings = Surroundings::urban;
  double roof_m = 15, street_width_m = 20, building_spacing_m = 40, street_angle_deg = 90;  // Walfisch-Ikegami
  double loss_exponent = 3, reference_distance_m = 1, shadowing_db = 0;                     // log_distance
  double seed = 1;                                                                          // of the shadowing; whole
  double wood_depth_m = 0;  // of trees along every path, no more than the path is long
  double wood_a1_db = 1.37, wood_alpha = 0.42;
  rays::RaySetting ray_tracing;  // but for its frequency, polarization and ground, which are those of `radio`
  double pressure_hpa = 1013.25, temperature_k = 288.15, vapour_g_per_m3 = 7.5;
};

/// What the ray tracer found between two radios, and a loss without a number where it found no path.
struct TracedPaths {
  std::size_t count = 0;
  double loss_db, strongest_db, coherent_db, power_db;
};

/// One link. Heights of the ground above sea level stand at equal steps from the transmitter to the receiver; where
/// Model::uses_profile is false, those of the two ends are enough.
struct RadioPath {
  double tx_height_m, rx_height_m;  // above ground
  std::span<const double> profile_m;
  double step_m;
  std::uint32_t tx_id = 0, rx_id = 0;                              // of the radios: shadowing differs from link to link
  double wood_depth_m = std::numeric_limits<double>::quiet_NaN();  // NaN: the setting's
  const TracedPaths* traced = nullptr;                             // what `rays` needs
};

struct Term {
  const char* name;  // with its unit; Model::terms says what it means
  double value;
};

enum class PathError {
  none,
  not_finite,  // a height, a step, a profile of fewer than two points
  same_place,  // no distance between the radios
  distance,    // outside what the model can compute
  tx_height,   // outside what the model can compute
  rx_height,
  above_roofs,  // Walfisch-Ikegami needs one antenna below the roofs
  itm,          // PathLoss::itm_error says which
  no_town,      // rays need what a tracer found
  no_path,      // it found none
};

/// Bits above those of ITM (ItmWarning), which itm sets too.
enum ModelWarning : std::uint32_t {
  kFrequencyOutside = 0x10000,
  kDistanceOutside = 0x20000,
  kHigherOutside = 0x40000,  // the height of the higher antenna
  kLowerOutside = 0x80000,
  kBelowFreeSpace = 0x100000,    // the formula gave less than free space, which was taken
  kGasOutside = 0x200000,        // frequency of gas
  kWoodOutside = 0x400000,       // frequency of woodland or weissberger
  kWoodDepthOutside = 0x800000,  // of weissberger
};

/// The loss between isotropic antennas, NaN where there is an error; and what it is made of.
struct PathLoss {
  static constexpr int kTerms = 20;
  double loss_db = std::numeric_limits<double>::quiet_NaN();
  PathError error = PathError::none;
  ItmError itm_error = ItmError::none;
  std::uint32_t warnings = 0;
  int count = 0;
  std::array<Term, kTerms> term;

  void add(const char* name, double value) {
    if (count < kTerms) term[static_cast<std::size_t>(count++)] = {name, value};
  }
  [[nodiscard]] std::span<const Term> terms() const { return {term.data(), static_cast<std::size_t>(count)}; }
};

/// Where a model was made for (valid; outside it warns), and where it has no loss at all (outside possible).
struct Range {
  double valid_low, valid_high;
  double possible_low, possible_high;
};

struct TermMeaning {
  const char* name;
  bool summand;  // the loss is the sum of these
  const char* meaning;
  const char* source;
};

struct PreparedModel;

struct Model {
  const char* name;
  const char* title;
  const char* source;
  const char* about;        // what it is for, and what it leaves out
  Range frequency_mhz;      // outside possible: a usage error
  Range distance_m;         // along the ground
  Range higher_m, lower_m;  // of the higher and the lower antenna above ground
  bool uses_profile = false;
  bool needs_town = false;                  // its paths are traced between buildings
  bool at_least_free_space = false;         // a formula of measurements is raised to free space
  bool warns_itself = false;                // of its ranges: itm
  std::span<const char* const> parameters;  // that it reads
  std::span<const TermMeaning> terms;
  void (*check)(const ModelSetting& setting) = nullptr;  // throws a usage error; null: nothing to check
  void (*loss)(const PreparedModel& prepared, const RadioPath& path, PathLoss& result);
};

/// What is added to another model by name: gas, woodland, weissberger.
struct Addition {
  const char* name;
  const char* title;
  const char* source;
  const char* about;
  Range frequency_mhz;
  std::span<const char* const> parameters;
  TermMeaning term;
  double (*loss_db)(const PreparedModel& prepared, double distance_m, double wood_depth_m, std::uint32_t& warnings);
};

/// A model with its setting, checked, and what in it does not depend on the link.
struct PreparedModel {
  const Model* model = nullptr;
  std::array<const Addition*, 2> additions{};
  ModelSetting setting;
  double wavelength_m = 0, earth_radius_m = 0;  // of the effective earth
  double gas_db_per_m = 0;
  double wood_db_per_m = 0, wood_most_db = 0;  // P.833
  std::uint32_t warnings = 0;                  // that every link has
};

std::span<const Model* const> models();
std::span<const Addition* const> additions();

/// `names`: a model, then what is added to it: "itm+woodland+gas". Throws a usage error for a name that is not known,
/// and for a setting that the model has no loss for.
PreparedModel prepare_model(std::string_view names, const ModelSetting& setting);

PathLoss path_loss(const PreparedModel& prepared, const RadioPath& path);

/// What the error and each warning of a result say to a person; empty where there is none.
std::string error_words(const PreparedModel& prepared, const PathLoss& result);
std::vector<std::string> warning_words(const PreparedModel& prepared, std::uint32_t warnings);

/// A value of ModelSetting by name: what options and JSON set.
struct ModelParameter {
  const char* name;
  const char* unit;
  const char* help;
  double low, high;                    // of numbers
  bool whole;                          // an integer
  std::span<const char* const> words;  // of choices: the value is the index
  double (*get)(const ModelSetting& setting);
  void (*set)(ModelSetting& setting, double value);
};
std::span<const ModelParameter> model_parameters();
/// Throws a usage error for a name that is not known and a text that is no value of it.
void set_parameter(ModelSetting& setting, std::string_view name, std::string_view text);

/// All of the above as JSON: {"models": [...], "additions": [...], "parameters": [...]}.
Json models_json();
/// One loss for `explain`: {"model", "loss_db", "error", "warnings", "terms": [{name, value, summand, meaning,
/// source}]}.
Json explanation_json(const PreparedModel& prepared, const PathLoss& result);

}  // namespace shakedown::radio
