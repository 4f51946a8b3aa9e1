#include "models.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/text.hpp"
#include "gas.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const Model* kModels[] = {&kItm,
                                    &kFreeSpace,
                                    &kTwoRay,
                                    &kTwoRayInterference,
                                    &kTwoRayEmane,
                                    &kKnifeEdge,
                                    &kDeygout,
                                    &kDeygoutP526,
                                    &kBullington,
                                    &kDeltaBullington,
                                    &kSphericalEarth,
                                    &kHata,
                                    &kCost231Hata,
                                    &kWalfischIkegami,
                                    &kWalfischIkegamiStreet,
                                    &kLogDistance,
                                    &kRays};
constexpr const Addition* kAdditions[] = {&kGas, &kWoodland, &kWeissberger};

template <class T>
std::string names_of(std::span<const T* const> table) {
  std::string names;
  for (const T* const entry : table) names += (names.empty() ? "" : ", ") + std::string(entry->name);
  return names;
}

template <class T>
const T& named(std::span<const T* const> table, std::string_view name, const char* kind) {
  for (const T* const entry : table) {
    if (name == entry->name) return *entry;
  }
  throw usage(std::string(kind) + " '" + std::string(name) + "' is not known", "there are " + names_of(table));
}

constexpr double kOnePlace_m = 1e-6;  // nearer radios are at one place

bool outside(double value, double low, double high) { return !(value >= low && value <= high); }
bool invalid(double value, const Range& range) { return outside(value, range.valid_low, range.valid_high); }
bool impossible(double value, const Range& range) { return outside(value, range.possible_low, range.possible_high); }

/// "30 to 200 m", "at least 1 m", "any".
std::string shown(double low, double high, const char* unit) {
  if (!std::isfinite(high)) return low > 0 ? print("at least %.10g %s", low, unit) : "any";
  return print("%.10g to %.10g %s", low, high, unit);
}

void check_frequency(const char* kind, const char* name, const Range& range, double frequency_mhz) {
  if (!impossible(frequency_mhz, range)) return;
  throw usage(print("the %s %s has no loss at %g MHz", kind, name, frequency_mhz),
              "choose " + shown(range.possible_low, range.possible_high, "MHz") + ", or another " + kind);
}

void check_parameters(const PreparedModel& prepared) {
  const auto check = [&](const char* name) {
    for (const ModelParameter& parameter : model_parameters()) {
      if (std::string_view(name) != parameter.name) continue;
      const double value = parameter.get(prepared.setting);
      if (!outside(value, parameter.low, parameter.high)) return;
      throw usage(print("%s %g is not %g to %g", name, value, parameter.low, parameter.high), parameter.help);
    }
  };
  check("frequency_mhz");
  for (const char* const name : prepared.model->parameters) check(name);
  for (const Addition* const addition : prepared.additions) {
    if (addition == nullptr) break;
    for (const char* const name : addition->parameters) check(name);
  }
}

void add_addition(PreparedModel& prepared, const Addition& addition) {
  const bool wood = &addition != &kGas;
  for (const Addition*& place : prepared.additions) {
    if (place == nullptr) {
      place = &addition;
      return;
    }
    if (place == &addition || (wood && place != &kGas)) break;
  }
  throw usage("the model has " + std::string(addition.name) + " beside another of its kind",
              "add gas once, and one of woodland and weissberger");
}

bool finite(const RadioPath& path, bool whole_profile) {
  if (path.profile_m.size() < 2 || !std::isfinite(path.step_m) || path.step_m < 0) return false;
  if (!std::isfinite(path.tx_height_m) || !std::isfinite(path.rx_height_m) || std::isinf(path.wood_depth_m))
    return false;
  if (!whole_profile) return std::isfinite(path.profile_m.front()) && std::isfinite(path.profile_m.back());
  double sum = 0;  // of products with 0: no number where one height is none
  for (const double height : path.profile_m) sum += 0 * height;
  return sum == 0;
}

PathError check_path(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const Model& model = *prepared.model;
  if (!finite(path, model.uses_profile)) return PathError::not_finite;
  const double distance = ground_distance_m(path);
  if (!(distance > kOnePlace_m)) return PathError::same_place;
  if (impossible(distance, model.distance_m)) return PathError::distance;
  if (model.warns_itself) return PathError::none;
  const bool tx_higher = path.tx_height_m >= path.rx_height_m;
  const double higher = higher_m(path), lower = lower_m(path);
  if (impossible(lower, model.lower_m)) return tx_higher ? PathError::rx_height : PathError::tx_height;
  if (impossible(higher, model.higher_m)) return tx_higher ? PathError::tx_height : PathError::rx_height;
  if (invalid(higher, model.higher_m)) result.warnings |= kHigherOutside;
  if (invalid(lower, model.lower_m)) result.warnings |= kLowerOutside;
  if (invalid(distance, model.distance_m)) result.warnings |= kDistanceOutside;
  return PathError::none;
}

void add_additions(const PreparedModel& prepared, const RadioPath& path, double slant_m, PathLoss& result) {
  const double asked = std::isnan(path.wood_depth_m) ? prepared.setting.wood_depth_m : path.wood_depth_m;
  const double depth = std::clamp(asked, 0.0, slant_m);
  for (const Addition* const addition : prepared.additions) {
    if (addition == nullptr) break;
    const double loss = addition->loss_db(prepared, slant_m, depth, result.warnings);
    result.add(addition->term.name, loss);
    result.loss_db += loss;
  }
}

}  // namespace

std::span<const Model* const> models() { return kModels; }
std::span<const Addition* const> additions() { return kAdditions; }

PreparedModel prepare_model(std::string_view names, const ModelSetting& setting) {
  PreparedModel prepared;
  prepared.setting = setting;
  std::size_t end = names.find('+');
  prepared.model = &named(models(), names.substr(0, end), "model");
  while (end != std::string_view::npos) {
    names.remove_prefix(end + 1);
    end = names.find('+');
    add_addition(prepared, named(additions(), names.substr(0, end), "addition to a model"));
  }
  check_parameters(prepared);
  const double f = setting.radio.frequency_mhz;
  check_frequency("model", prepared.model->name, prepared.model->frequency_mhz, f);
  if (!prepared.model->warns_itself && invalid(f, prepared.model->frequency_mhz))
    prepared.warnings |= kFrequencyOutside;
  for (const Addition* const addition : prepared.additions) {
    if (addition == nullptr) break;
    check_frequency("addition", addition->name, addition->frequency_mhz, f);
    if (invalid(f, addition->frequency_mhz)) prepared.warnings |= addition == &kGas ? kGasOutside : kWoodOutside;
  }
  if (prepared.model->check != nullptr) prepared.model->check(setting);
  prepared.wavelength_m = kLight_m_per_s / (f * 1e6);
  prepared.earth_radius_m = setting.earth_factor * kEarth_m;
  const GasAttenuation gas =
      gas_attenuation(f / 1000, setting.pressure_hpa, setting.temperature_k, setting.vapour_g_per_m3);
  prepared.gas_db_per_m = (gas.dry_db_per_km + gas.vapour_db_per_km) / 1000;
  prepare_woodland(prepared);
  return prepared;
}

PathLoss path_loss(const PreparedModel& prepared, const RadioPath& path) {
  PathLoss result;
  result.warnings = prepared.warnings;
  result.error = check_path(prepared, path, result);
  if (result.error != PathError::none) return result;
  const double slant = slant_distance_m(path);
  result.add("distance_m", ground_distance_m(path));
  result.add("slant_m", slant);
  prepared.model->loss(prepared, path, result);
  if (result.error != PathError::none) return result;
  if (prepared.model->at_least_free_space) {
    const double below = free_space_db(slant, prepared.wavelength_m) - result.loss_db;
    if (below > 0) {
      result.warnings |= kBelowFreeSpace;
      result.loss_db += below;
    }
    result.add("raised_to_free_space_db", std::fmax(below, 0));
  }
  add_additions(prepared, path, slant, result);
  return result;
}

std::string error_words(const PreparedModel& prepared, const PathLoss& result) {
  const Model& model = *prepared.model;
  const auto height = [&](const char* end) {
    return print("the %s's antenna is not ", end) +
           shown(model.lower_m.possible_low, model.higher_m.possible_high, "m") + " above ground";
  };
  switch (result.error) {
    case PathError::none:
      return "";
    case PathError::not_finite:
      return "a height of the path, or its step, is not known";
    case PathError::same_place:
      return "the radios are at one place";
    case PathError::distance:
      return "the distance is not " + shown(model.distance_m.possible_low, model.distance_m.possible_high, "m");
    case PathError::tx_height:
      return height("transmitter");
    case PathError::rx_height:
      return height("receiver");
    case PathError::above_roofs:
      return print("both antennas are above the roofs of %g m", prepared.setting.roof_m);
    case PathError::itm:
      return words_of(result.itm_error);
    case PathError::no_town:
      return "no town was given to trace rays in";
    case PathError::no_path:
      return "no path leads from one radio to the other";
  }
  return "unknown error " + std::to_string(static_cast<int>(result.error));
}

std::vector<std::string> warning_words(const PreparedModel& prepared, std::uint32_t warnings) {
  const Model& model = *prepared.model;
  std::vector<std::string> words;
  for (std::uint32_t bit = 1; bit <= kSurfaceRefractivity; bit <<= 1) {
    if ((warnings & bit) != 0) words.push_back(words_of(static_cast<ItmWarning>(bit)));
  }
  const auto range = [&](std::uint32_t bit, const char* what, const Range& valid, const char* unit, const char* name) {
    if ((warnings & bit) == 0) return;
    words.push_back(std::string(what) + " is outside what " + name +
                    " was made for: " + shown(valid.valid_low, valid.valid_high, unit));
  };
  range(kFrequencyOutside, "the frequency", model.frequency_mhz, "MHz", model.name);
  range(kDistanceOutside, "the distance", model.distance_m, "m", model.name);
  range(kHigherOutside, "the height of the higher antenna", model.higher_m, "m", model.name);
  range(kLowerOutside, "the height of the lower antenna", model.lower_m, "m", model.name);
  if ((warnings & kBelowFreeSpace) != 0) {
    words.push_back("the formula of " + std::string(model.name) + " gives less than free space, which was taken");
  }
  for (const Addition* const addition : prepared.additions) {
    if (addition == nullptr) break;
    range(addition == &kGas ? kGasOutside : kWoodOutside, "the frequency", addition->frequency_mhz, "MHz",
          addition->name);
  }
  if ((warnings & kWoodDepthOutside) != 0)
    words.emplace_back("the depth of trees is outside what weissberger was made for: 0 to 400 m");
  return words;
}

}  // namespace shakedown::radio
