// Medians of measurements in towns: Hata's formulas of Okumura's curves, and their extension by COST 231.
#include "common/error.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz", "surroundings"};

/// 44.9 - 6.55 log hb per decade of distance, both models.
double by_distance_db(const RadioPath& path) {
  return (44.9 - 6.55 * std::log10(higher_m(path))) * std::log10(ground_distance_m(path) / 1000);
}

/// a(hm) of a small or medium-sized town: Hata 1980, equation 10.
double town_mobile_db(double frequency_mhz, double mobile_m) {
  const double logf = std::log10(frequency_mhz);
  return (1.1 * logf - 0.7) * mobile_m - (1.56 * logf - 0.8);
}

/// a(hm) of a large city: Hata 1980, equations 11 and 12, for up to 200 MHz and from 400 MHz; between them 300 MHz
/// divides, as is usual.
double city_mobile_db(double frequency_mhz, double mobile_m) {
  const double by_low = std::log10(1.54 * mobile_m), by_high = std::log10(11.75 * mobile_m);
  return frequency_mhz <= 300 ? 8.29 * by_low * by_low - 1.1 : 3.2 * by_high * by_high - 4.97;
}

constexpr TermMeaning kBase{"base_db", true, "of a frequency at 1 km from a base of 1 m", "Hata 1980, equation 9"};
constexpr TermMeaning kHeight{"base_height_db", true, "-13.82 log of the higher antenna's height",
                              "Hata 1980, equation 9"};
constexpr TermMeaning kMobile{"mobile_height_db", true, "-a(hm) of the lower antenna, by the size of the town",
                              "Hata 1980, equations 10 to 12"};
constexpr TermMeaning kDistance{"distance_db", true, "(44.9 - 6.55 log hb) log d, d in km", "Hata 1980, equation 9"};
constexpr TermMeaning kHataTerms[] = {
    kBase,
    kHeight,
    kMobile,
    kDistance,
    {"surroundings_db", true, "of suburbs or open country", "Hata 1980, equations 13 and 14"},
};

double surroundings_db(Surroundings surroundings, double frequency_mhz) {
  const double logf = std::log10(frequency_mhz), by_28 = std::log10(frequency_mhz / 28);
  if (surroundings == Surroundings::suburban) return -2 * by_28 * by_28 - 5.4;
  if (surroundings == Surroundings::open) return -4.78 * logf * logf + 18.33 * logf - 40.94;
  return 0;
}

void hata_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double f = prepared.setting.radio.frequency_mhz;
  const Surroundings surroundings = prepared.setting.surroundings;
  const double base = 69.55 + 26.16 * std::log10(f), height = -13.82 * std::log10(higher_m(path));
  const double mobile = surroundings == Surroundings::metropolitan ? -city_mobile_db(f, lower_m(path))
                                                                   : -town_mobile_db(f, lower_m(path));
  const double distance = by_distance_db(path), around = surroundings_db(surroundings, f);
  result.add("base_db", base);
  result.add("base_height_db", height);
  result.add("mobile_height_db", mobile);
  result.add("distance_db", distance);
  result.add("surroundings_db", around);
  result.loss_db = base + height + mobile + distance + around;
}

constexpr TermMeaning kCostTerms[] = {
    {"base_db", true, "of a frequency at 1 km from a base of 1 m", "COST 231 final report, equation 4.4.3"},
    kHeight,
    kMobile,
    kDistance,
    {"surroundings_db", true, "3 dB in metropolitan centres", "COST 231 final report, equation 4.4.3"},
};

void cost_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double f = prepared.setting.radio.frequency_mhz;
  const double base = 46.3 + 33.9 * std::log10(f), height = -13.82 * std::log10(higher_m(path));
  const double mobile = -town_mobile_db(f, lower_m(path)), distance = by_distance_db(path);
  const double around = prepared.setting.surroundings == Surroundings::metropolitan ? 3 : 0;
  result.add("base_db", base);
  result.add("base_height_db", height);
  result.add("mobile_height_db", mobile);
  result.add("distance_db", distance);
  result.add("surroundings_db", around);
  result.loss_db = base + height + mobile + distance + around;
}

void check_cost(const ModelSetting& setting) {
  if (setting.surroundings == Surroundings::open) {
    throw usage("the model cost231_hata has no loss for open country",
                "choose suburban, urban or metropolitan, or the model hata");
  }
}

constexpr Range kTown{1e3, 20e3, 0, kFarthest_m};
constexpr Range kBaseHeight{30, 200, 0.1, kHighest_m}, kMobileHeight{1, 10, 0.1, kHighest_m};

}  // namespace

const Model kHata{
    .name = "hata",
    .title = "Okumura-Hata",
    .source = "M. Hata, IEEE Trans. Veh. Technol. 29 (3), 1980",
    .about =
        "median of towns, suburbs or open country from 150 to 1500 MHz; the higher antenna is the base; no terrain",
    .frequency_mhz = {150, 1500, 30, 3000},
    .distance_m = kTown,
    .higher_m = kBaseHeight,
    .lower_m = kMobileHeight,
    .at_least_free_space = true,
    .parameters = kReads,
    .terms = kHataTerms,
    .loss = hata_loss,
};

const Model kCost231Hata{
    .name = "cost231_hata",
    .title = "COST 231 Hata",
    .source = "COST 231 final report, 1999, section 4.4.1",
    .about = "median of towns and suburbs from 1500 to 2000 MHz; the higher antenna is the base; no terrain",
    .frequency_mhz = {1500, 2000, 500, 4000},
    .distance_m = kTown,
    .higher_m = kBaseHeight,
    .lower_m = kMobileHeight,
    .at_least_free_space = true,
    .parameters = kReads,
    .terms = kCostTerms,
    .check = check_cost,
    .loss = cost_loss,
};

}  // namespace shakedown::radio
