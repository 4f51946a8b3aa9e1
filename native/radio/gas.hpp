// Attenuation by the gases of the air near the ground.
#pragma once

namespace shakedown::radio {

struct GasAttenuation {
  double dry_db_per_km, vapour_db_per_km;
};
/// The sum of the lines of oxygen and water vapour, ITU-R P.676-13, Annex 1, for 1 to 1000 GHz. `pressure_hpa` is that
/// of dry air.
GasAttenuation gas_attenuation(double frequency_ghz, double pressure_hpa, double temperature_k, double vapour_g_per_m3);

}  // namespace shakedown::radio
