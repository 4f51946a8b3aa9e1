// The values of a setting by name.
#include <charconv>
#include <cmath>

#include "common/error.hpp"
#include "common/text.hpp"
#include "models.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kPolarizations[] = {"horizontal", "vertical"};
constexpr const char* kSums[] = {"coherent", "power"};
constexpr const char* kSurroundings[] = {"open", "suburban", "urban", "metropolitan"};

#define SHAKEDOWN_VALUE(member)                                                              \
  [](const ModelSetting& setting) -> double { return static_cast<double>(setting.member); }, \
      [](ModelSetting& setting, double value) { setting.member = static_cast<decltype(setting.member)>(value); }

constexpr ModelParameter number(const char* name, const char* unit, double low, double high, const char* help,
                                double (*get)(const ModelSetting&), void (*set)(ModelSetting&, double)) {
  return {name, unit, help, low, high, false, {}, get, set};
}
constexpr ModelParameter whole(const char* name, double low, double high, const char* help,
                               double (*get)(const ModelSetting&), void (*set)(ModelSetting&, double)) {
  return {name, "", help, low, high, true, {}, get, set};
}
constexpr ModelParameter choice(const char* name, std::span<const char* const> words, const char* help,
                                double (*get)(const ModelSetting&), void (*set)(ModelSetting&, double)) {
  return {name, "", help, 0, static_cast<double>(words.size() - 1), true, words, get, set};
}

constexpr ModelParameter kParameters[] = {
    number("frequency_mhz", "MHz", 1, 1e6, "of the radios", SHAKEDOWN_VALUE(radio.frequency_mhz)),
    choice("polarization", kPolarizations, "of the antennas", SHAKEDOWN_VALUE(radio.polarization)),
    number("permittivity", "", 1, 1000, "of the ground, relative: 15 average ground, 80 water",
           SHAKEDOWN_VALUE(radio.permittivity)),
    number("conductivity_s_per_m", "S/m", 1e-9, 100, "of the ground: 0.005 average ground, 5 sea water",
           SHAKEDOWN_VALUE(radio.conductivity_s_per_m)),
    whole("climate", 1, 7,
          "1 equatorial, 2 continental subtropical, 3 maritime subtropical, 4 desert, 5 continental "
          "temperate, 6 maritime temperate over land, 7 over sea",
          SHAKEDOWN_VALUE(radio.climate)),
    number("refractivity_n", "N-units", 250, 400, "of the surface, reduced to sea level",
           SHAKEDOWN_VALUE(radio.refractivity_n)),
    whole("variability_mode", 0, 33,
          "0 single message, 1 accidental, 2 mobile, 3 broadcast; plus 10 without location, "
          "plus 20 without situation variability",
          SHAKEDOWN_VALUE(radio.variability_mode)),
    number("time_percent", "%", 1e-6, 100 - 1e-6, "share of time in which the loss is at most this",
           SHAKEDOWN_VALUE(radio.time_percent)),
    number("location_percent", "%", 1e-6, 100 - 1e-6, "share of locations where it is at most this",
           SHAKEDOWN_VALUE(radio.location_percent)),
    number("situation_percent", "%", 1e-6, 100 - 1e-6, "share of situations in which it is at most this",
           SHAKEDOWN_VALUE(radio.situation_percent)),
    number("earth_factor", "", 0.3, 1000, "radius of the effective earth over 6371 km: 4/3 in a standard atmosphere",
           SHAKEDOWN_VALUE(earth_factor)),
    choice("surroundings", kSurroundings, "of the lower antenna", SHAKEDOWN_VALUE(surroundings)),
    number("roof_m", "m", 1, 500, "height of the roofs", SHAKEDOWN_VALUE(roof_m)),
    number("street_width_m", "m", 1, 500, "between the fronts of buildings", SHAKEDOWN_VALUE(street_width_m)),
    number("building_spacing_m", "m", 1, 1000, "from the middle of a row of buildings to the next",
           SHAKEDOWN_VALUE(building_spacing_m)),
    number("street_angle_deg", "deg", 0, 90, "between the street and the path", SHAKEDOWN_VALUE(street_angle_deg)),
    number("loss_exponent", "", 1, 10, "of distance: 2 free space, 3 to 4 towns", SHAKEDOWN_VALUE(loss_exponent)),
    number("reference_distance_m", "m", 0.01, 1e5, "up to which space is free", SHAKEDOWN_VALUE(reference_distance_m)),
    number("shadowing_db", "dB", 0, 50, "standard deviation from link to link", SHAKEDOWN_VALUE(shadowing_db)),
    whole("seed", 0, 9007199254740991, "of the shadowing", SHAKEDOWN_VALUE(seed)),
    number("wood_depth_m", "m", 0, 1e6, "of trees along every path, no more than the path is long",
           SHAKEDOWN_VALUE(wood_depth_m)),
    number("wood_a1_db", "dB", 0, 1000,
           "A1 of a wood's most attenuation A1 f^alpha: 1.37 mixed wood near St. Petersburg",
           SHAKEDOWN_VALUE(wood_a1_db)),
    number("wood_alpha", "", 0, 2, "alpha of A1 f^alpha: 0.42 mixed wood near St. Petersburg",
           SHAKEDOWN_VALUE(wood_alpha)),
    choice("wall_material", rays::kWallMaterials, "of all walls", SHAKEDOWN_VALUE(ray_tracing.walls)),
    whole("reflections", 0, 2, "of a path by walls, at most", SHAKEDOWN_VALUE(ray_tracing.reflections)),
    whole("corner_reflections", 0, 1, "the same of a path round a corner",
          SHAKEDOWN_VALUE(ray_tracing.corner_reflections)),
    whole("roof_reflections", 0, 1, "the same of a path over roofs", SHAKEDOWN_VALUE(ray_tracing.roof_reflections)),
    choice("path_sum", kSums, "of all paths: their fields with phases, or their powers",
           SHAKEDOWN_VALUE(ray_tracing.sum)),
    number("pressure_hpa", "hPa", 1, 1100, "of dry air", SHAKEDOWN_VALUE(pressure_hpa)),
    number("temperature_k", "K", 150, 350, "of the air", SHAKEDOWN_VALUE(temperature_k)),
    number("vapour_g_per_m3", "g/m3", 0, 100, "water in the air", SHAKEDOWN_VALUE(vapour_g_per_m3)),
};
#undef SHAKEDOWN_VALUE

double value_of(const ModelParameter& parameter, const std::string& text) {
  if (!parameter.words.empty()) {
    std::string known;
    for (std::size_t i = 0; i < parameter.words.size(); ++i) {
      if (text == parameter.words[i]) return static_cast<double>(i);
      known += (known.empty() ? "" : ", ") + std::string(parameter.words[i]);
    }
    throw usage(std::string(parameter.name) + " '" + text + "' is not known", "choose " + known);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc{} && end == text.data() + text.size();
  if (!number || !(value >= parameter.low && value <= parameter.high) ||
      (parameter.whole && value != std::floor(value))) {
    throw usage(std::string(parameter.name) + " '" + text + "' is not " +
                    (parameter.whole ? "a whole number" : "a number") +
                    print(" from %.16g to %.16g %s", parameter.low, parameter.high, parameter.unit),
                parameter.help);
  }
  return value;
}

}  // namespace

std::span<const ModelParameter> model_parameters() { return kParameters; }

void set_parameter(ModelSetting& setting, std::string_view name, std::string_view text) {
  std::string known;
  for (const ModelParameter& parameter : kParameters) {
    if (name == parameter.name) {
      parameter.set(setting, value_of(parameter, std::string(text)));
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(parameter.name);
  }
  throw usage("the setting '" + std::string(name) + "' is not known", "there are " + known);
}

}  // namespace shakedown::radio
