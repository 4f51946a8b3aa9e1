#include "gas.hpp"

#include "gas_lines.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

/// Shape of a line at f0, equation 5, with its width and its interference.
double shape(double f, double f0, double width, double interference) {
  const double below = f0 - f, above = f0 + f;
  return f / f0 *
         ((width - interference * below) / (below * below + width * width) +
          (width - interference * above) / (above * above + width * width));
}

/// Imaginary part of the refractivity of dry air: lines of oxygen, equations 2a to 7, and the continuum, 8 and 9.
double dry_refractivity(double f, double pressure, double vapour_pressure, double theta) {
  double sum = 0;
  const double power = std::pow(theta, 0.8), both = (pressure + vapour_pressure) * power;
  for (const auto& [f0, a1, a2, a3, a5, a6] : kOxygenLines) {
    const double strength = a1 * 1e-7 * pressure * theta * theta * theta * std::exp(a2 * (1 - theta));
    const double pressed = a3 * 1e-4 * (pressure * power + 1.1 * vapour_pressure * theta);
    const double width = std::sqrt(pressed * pressed + 2.25e-6);  // with Zeeman's splitting
    sum += strength * shape(f, f0, width, (a5 + a6 * theta) * 1e-4 * both);
  }
  const double d = 5.6e-4 * both;  // width of the Debye spectrum
  const double nitrogen = 1.4e-12 * pressure * std::pow(theta, 1.5) / (1 + 1.9e-5 * std::pow(f, 1.5));
  return sum + f * pressure * theta * theta * (6.14e-5 / (d * (1 + f / d * (f / d))) + nitrogen);
}

/// Imaginary part of the refractivity of water vapour: equations 2b to 6.
double vapour_refractivity(double f, double pressure, double vapour_pressure, double theta) {
  double sum = 0;
  const double common = 0.1 * vapour_pressure * std::pow(theta, 3.5);
  for (const auto& [f0, b1, b2, b3, b4, b5, b6] : kVapourLines) {
    const double strength = b1 * common * std::exp(b2 * (1 - theta));
    const double pressed = b3 * 1e-4 * (pressure * std::pow(theta, b4) + b5 * vapour_pressure * std::pow(theta, b6));
    const double width =  // with Doppler's broadening
        0.535 * pressed + std::sqrt(0.217 * pressed * pressed + 2.1316e-12 * f0 * f0 / theta);
    sum += strength * shape(f, f0, width, 0);
  }
  return sum;
}

constexpr const char* kReads[] = {"pressure_hpa", "temperature_k", "vapour_g_per_m3"};

double gas_db(const PreparedModel& prepared, double distance_m, double, std::uint32_t&) {
  return prepared.gas_db_per_m * distance_m;
}

}  // namespace

GasAttenuation gas_attenuation(double f, double pressure, double temperature, double vapour) {
  const double theta = 300 / temperature, vapour_pressure = vapour * temperature / 216.7;  // equation 4
  return {0.1820 * f * dry_refractivity(f, pressure, vapour_pressure, theta),
          0.1820 * f * vapour_refractivity(f, pressure, vapour_pressure, theta)};
}

const Addition kGas{
    .name = "gas",
    .title = "gases of the air",
    .source = "ITU-R P.676-13, Annex 1",
    .about =
        "oxygen and water vapour along the whole path at the pressure, temperature and humidity of the setting; below "
        "10 GHz less than 0.02 dB per km",
    .frequency_mhz = {1e3, 1e6, 1, 1e6},
    .parameters = kReads,
    .term = {"gas_db", true, "oxygen and water vapour along the path", "ITU-R P.676-13, equation 1"},
    .loss_db = gas_db,
};

}  // namespace shakedown::radio
