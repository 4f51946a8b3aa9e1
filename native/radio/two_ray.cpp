// Two rays over a plane, the direct one and the one from the ground, in three forms: the asymptote with its crossover
// to free space, both rays with the ground's reflection, and what EMANE calls 2ray.
#include <complex>

#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kFrequencyAlone[] = {"frequency_mhz"};
constexpr const char* kReadsGround[] = {"frequency_mhz", "polarization", "permittivity", "conductivity_s_per_m"};

/// The plane goes through the feet of both antennas.
double feet_distance_m(const RadioPath& path) {
  return std::hypot(ground_distance_m(path), path.profile_m.back() - path.profile_m.front());
}

constexpr TermMeaning kCrossoverTerms[] = {
    {"crossover_m", false, "distance from which the rays work against each other: 4 pi h1 h2 / lambda",
     "equal losses of both forms"},
    {"free_space_db", true, "spreading of the direct ray", "ITU-R P.525-4, equation 3"},
    {"plane_earth_db", true, "beyond the crossover: 20 log(d / crossover), to 40 log d - 20 log(h1 h2)",
     "two rays at grazing incidence, Rappaport 2002, equation 4.52"},
};

void crossover_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double r1 = std::hypot(feet_distance_m(path), path.tx_height_m - path.rx_height_m);
  const double crossover = 4 * M_PI * path.tx_height_m * path.rx_height_m / prepared.wavelength_m;
  const double free = free_space_db(r1, prepared.wavelength_m);
  const double beyond = r1 > crossover ? 20 * std::log10(r1 / crossover) : 0;
  result.add("crossover_m", crossover);
  result.add("free_space_db", free);
  result.add("plane_earth_db", beyond);
  result.loss_db = free + beyond;
}

constexpr TermMeaning kInterferenceTerms[] = {
    {"free_space_db", true, "spreading of the direct ray", "ITU-R P.525-4, equation 3"},
    {"grazing_rad", false, "angle between the reflected ray and the ground", "plane geometry"},
    {"reflection", false, "magnitude of the ground's coefficient of reflection", "Fresnel's equations"},
    {"path_difference_m", false, "by which the reflected ray is longer", "4 h1 h2 / (r1 + r2)"},
    {"interference_db", true, "-20 log |1 + R r1/r2 exp(-j k difference)|; negative where the rays add up",
     "sum of two rays"},
};

/// Fresnel's coefficient of a plane with the relative permittivity e - j 18000 sigma / f, f in MHz.
std::complex<double> reflection(const Setting& radio, double sine) {
  const std::complex<double> permittivity(radio.permittivity,
                                          -18000 * radio.conductivity_s_per_m / radio.frequency_mhz);
  const std::complex<double> root = std::sqrt(permittivity - (1 - sine * sine));
  const std::complex<double> top = radio.polarization == Polarization::vertical ? permittivity * sine : sine;
  return (top - root) / (top + root);
}

void interference_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double d = feet_distance_m(path), h1 = path.tx_height_m, h2 = path.rx_height_m;
  const double r1 = std::hypot(d, h1 - h2), r2 = std::hypot(d, h1 + h2);
  const double sine = (h1 + h2) / r2, difference = 4 * h1 * h2 / (r1 + r2);
  const std::complex<double> ground = reflection(prepared.setting.radio, sine);
  const double phase = 2 * M_PI * difference / prepared.wavelength_m;
  const std::complex<double> field = 1.0 + ground * (r1 / r2) * std::polar(1.0, -phase);
  const double free = free_space_db(r1, prepared.wavelength_m), both = -10 * std::log10(std::norm(field));
  result.add("free_space_db", free);
  result.add("grazing_rad", std::asin(sine));
  result.add("reflection", std::abs(ground));
  result.add("path_difference_m", difference);
  result.add("interference_db", both);
  result.loss_db = free + both;
}

constexpr TermMeaning kEmaneTerms[] = {
    {"distance_term_db", true, "40 log d, over the straight line", "EMANE 1.5.3, 2ray"},
    {"height_term_db", true, "-20 log(h1 h2), heights below 1 m taken as 1 m", "EMANE 1.5.3, 2ray"},
    {"floor_db", true, "what raises a negative loss to 0", "EMANE 1.5.3, 2ray"},
};

void emane_loss(const PreparedModel&, const RadioPath& path, PathLoss& result) {
  const double h1 = path.tx_height_m < 1 ? 1 : path.tx_height_m, h2 = path.rx_height_m < 1 ? 1 : path.rx_height_m;
  const double by_distance = 40 * std::log10(slant_distance_m(path)), by_height = -20 * std::log10(h1 * h2);
  const double sum = by_distance + by_height;
  result.add("distance_term_db", by_distance);
  result.add("height_term_db", by_height);
  result.add("floor_db", sum < 0 ? -sum : 0);
  result.loss_db = sum < 0 ? 0 : sum;
}

/// Below a tenth of a metre an antenna is on the ground, where the rays cancel.
constexpr Range kAboveGround{0.1, kAny, 0.1, kHighest_m};

}  // namespace

const Model kTwoRay{
    .name = "two_ray",
    .title = "two rays with a crossover",
    .source = "plane earth, Rappaport 2002, section 4.6",
    .about = "flat land: free space up to the crossover, 40 log d beyond; no interference between the rays",
    .frequency_mhz = kAnyFrequency,
    .distance_m = kAnyDistance,
    .higher_m = kAboveGround,
    .lower_m = kAboveGround,
    .parameters = kFrequencyAlone,
    .terms = kCrossoverTerms,
    .loss = crossover_loss,
};

const Model kTwoRayInterference{
    .name = "two_ray_interference",
    .title = "two rays that interfere",
    .source = "sum of two rays with Fresnel's reflection",
    .about = "flat land, one fixed link: minima and maxima of both rays, by ground and polarization",
    .frequency_mhz = kAnyFrequency,
    .distance_m = kAnyDistance,
    .higher_m = kAboveGround,
    .lower_m = kAboveGround,
    .parameters = kReadsGround,
    .terms = kInterferenceTerms,
    .loss = interference_loss,
};

const Model kTwoRayEmane{
    .name = "two_ray_emane",
    .title = "two rays as in EMANE",
    .source = "EMANE 1.5.3, propagation model 2ray",
    .about =
        "40 log d - 20 log(h1 h2) at every distance and frequency, at least 0: to agree with EMANE, and for nothing "
        "else. EMANE takes the altitudes of its location events; here they are heights above ground",
    .frequency_mhz = kAnyFrequency,
    .distance_m = kAnyDistance,
    .higher_m = kAnyHeight,
    .lower_m = kAnyHeight,
    .parameters = {},
    .terms = kEmaneTerms,
    .loss = emane_loss,
};

}  // namespace shakedown::radio
