// Power law of the distance from a reference in free space, with shadowing that is the same for a link every time.
#include <algorithm>

#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz", "loss_exponent", "reference_distance_m", "shadowing_db", "seed"};
constexpr TermMeaning kTerms[] = {
    {"reference_db", true, "free space at the reference distance", "ITU-R P.525-4, equation 3"},
    {"distance_db", true, "10 n log(d / reference); nothing below the reference", "Rappaport 2002, equation 4.69"},
    {"shadowing_db", true, "normal, of this link and seed: the same both ways and every time",
     "Rappaport 2002, equation 4.69"},
};

/// Mixes 64 bits so that each depends on all: SplitMix64's function (Steele, Lea and Flood 2014).
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

/// A standard normal deviate of an unordered pair, by Box and Muller.
double deviate_of(double seed, std::uint32_t one, std::uint32_t other) {
  const auto [low, high] = std::minmax(one, other);
  const std::uint64_t pair = mixed(static_cast<std::uint64_t>(seed)) ^ (std::uint64_t{low} << 32 | high);
  const std::uint64_t first = mixed(pair), second = mixed(first);
  const double u = (static_cast<double>(first >> 11) + 1) * 0x1p-53, v = static_cast<double>(second >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
}

void loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const ModelSetting& setting = prepared.setting;
  const double reference = free_space_db(setting.reference_distance_m, prepared.wavelength_m);
  const double ratio = std::fmax(slant_distance_m(path) / setting.reference_distance_m, 1);
  const double by_distance = 10 * setting.loss_exponent * std::log10(ratio);
  const double shadow =
      setting.shadowing_db > 0 ? setting.shadowing_db * deviate_of(setting.seed, path.tx_id, path.rx_id) : 0;
  result.add("reference_db", reference);
  result.add("distance_db", by_distance);
  result.add("shadowing_db", shadow);
  result.loss_db = reference + by_distance + shadow;
}

}  // namespace

const Model kLogDistance{
    .name = "log_distance",
    .title = "power law of the distance, with shadowing",
    .source = "T. S. Rappaport, Wireless Communications, 2nd edition, 2002, section 4.9",
    .about =
        "an exponent that was measured for a kind of place, and a spread about it by link; a radio that moves keeps "
        "its shadowing",
    .frequency_mhz = kAnyFrequency,
    .distance_m = kAnyDistance,
    .higher_m = kAnyHeight,
    .lower_m = kAnyHeight,
    .parameters = kReads,
    .terms = kTerms,
    .loss = loss,
};

}  // namespace shakedown::radio
