#include "reception.hpp"

#include <cmath>
#include <limits>

#include "common/error.hpp"

namespace shakedown::radio_forwarder {

Modulation parse_modulation(const std::string& word) {
  if (word == "psk") return Modulation::psk;
  if (word == "logistic") return Modulation::logistic;
  if (word == "threshold") return Modulation::threshold;
  throw usage("'" + word + "' is not a modulation", "psk, logistic or threshold");
}

Reception reception(const Waveform& waveform, double snr_db) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  switch (waveform.modulation) {
    case Modulation::psk: {
      const double gain_db = snr_db + waveform.coding_gain_db;
      const double energy_ratio = std::pow(10.0, gain_db / 10) * waveform.bandwidth_hz / waveform.rate_bit_s;
      const double wrong = 0.5 * std::erfc(std::sqrt(energy_ratio));  // Q(sqrt(2 x)) = erfc(sqrt(x)) / 2
      return {0, static_cast<float>(std::log1p(-wrong))};
    }
    case Modulation::logistic:
      return {static_cast<float>(-std::log1p(std::exp((waveform.snr_half_db - snr_db) / waveform.slope_db))), 0};
    case Modulation::threshold:
      break;
  }
  return {snr_db >= waveform.snr_half_db ? 0 : kNever, 0};
}

double success(const Reception& reception, std::size_t bytes) {
  if (reception.fixed == 0 && reception.per_bit == 0) return 1;  // 0 x bits would do, at the cost of an exponential
  return std::exp(static_cast<double>(reception.fixed) +
                  8 * static_cast<double>(bytes) * static_cast<double>(reception.per_bit));
}

}  // namespace shakedown::radio_forwarder
