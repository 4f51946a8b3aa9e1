// Trees along a path: ITU-R P.833's woodland, and Weissberger's.
#include "model_kinds.hpp"

namespace shakedown::radio {

void prepare_woodland(PreparedModel& prepared) {
  // Measured near St. Petersburg, P.833-9, table 1: MHz and dB per m.
  constexpr double kFrequency[] = {105.9, 466.475, 949, 1852.2, 2117.5}, kGamma[] = {0.04, 0.12, 0.17, 0.30, 0.34};
  const double f = prepared.setting.radio.frequency_mhz;
  int i = 0;  // of the pair between which, or beyond which at the ends, the powers of f are taken
  while (i < 3 && f > kFrequency[i + 1]) ++i;
  const double power = std::log(kGamma[i + 1] / kGamma[i]) / std::log(kFrequency[i + 1] / kFrequency[i]);
  prepared.wood_db_per_m = kGamma[i] * std::pow(f / kFrequency[i], power);
  prepared.wood_most_db = prepared.setting.wood_a1_db * std::pow(f, prepared.setting.wood_alpha);
}

namespace {

constexpr const char* kWoodReads[] = {"wood_depth_m", "wood_a1_db", "wood_alpha"};
constexpr const char* kWeissbergerReads[] = {"wood_depth_m"};

double woodland_db(const PreparedModel& prepared, double, double depth_m, std::uint32_t&) {
  const double most = prepared.wood_most_db;
  return most > 0 ? -most * std::expm1(-depth_m * prepared.wood_db_per_m / most) : 0;
}

double weissberger_db(const PreparedModel& prepared, double, double depth_m, std::uint32_t& warnings) {
  if (depth_m > 400) warnings |= kWoodDepthOutside;
  const double by_frequency = std::pow(prepared.setting.radio.frequency_mhz / 1000, 0.284);
  return depth_m <= 14 ? 0.45 * by_frequency * depth_m : 1.33 * by_frequency * std::pow(depth_m, 0.588);
}

}  // namespace

const Addition kWoodland{
    .name = "woodland",
    .title = "one antenna in a wood",
    .source = "ITU-R P.833-9, section 2.1",
    .about =
        "Am (1 - exp(-d gamma / Am)) over the depth d of trees, Am = A1 f^alpha: never more than the way round or over "
        "the wood",
    .frequency_mhz = {105.9, 2117.5, 30, 30e3},
    .parameters = kWoodReads,
    .term = {"woodland_db", true, "trees along the path", "ITU-R P.833-9, equation 1"},
    .loss_db = woodland_db,
};

const Addition kWeissberger{
    .name = "weissberger",
    .title = "through trees in leaf",
    .source = "M. A. Weissberger, ESD-TR-81-101, 1982",
    .about = "0.45 f^0.284 d up to 14 m, 1.33 f^0.284 d^0.588 up to 400 m, f in GHz: a grove between the antennas",
    .frequency_mhz = {230, 95e3, 1, 1e6},
    .parameters = kWeissbergerReads,
    .term = {"weissberger_db", true, "trees along the path", "Weissberger 1982"},
    .loss_db = weissberger_db,
};

}  // namespace shakedown::radio
