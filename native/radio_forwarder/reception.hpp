// Whether a frame is received: its probability from the ratio of signal to noise, by a stated radio model. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace shakedown::radio_forwarder {

/// psk: coherent BPSK, or QPSK with Gray's code, in white noise: a bit is wrong with probability Q(sqrt(2 Eb/N0))
/// (Proakis and Salehi, "Digital Communications", 5th ed., eq. 4.3-13), and a frame is received where all of its bits
/// are right. logistic: 1 / (1 + exp((half - snr) / slope)), of any length. threshold: received from `half` on.
enum class Modulation { psk, logistic, threshold };

/// Throws a usage error for a word that is none.
Modulation parse_modulation(const std::string& word);

struct Waveform {
  Modulation modulation = Modulation::psk;
  double bandwidth_hz = 1e6;
  double rate_bit_s = 1e6;    // of the bits on air: Eb/N0 = snr x bandwidth / rate
  double coding_gain_db = 0;  // psk: added to Eb/N0
  double snr_half_db = 10;    // logistic, threshold
  double slope_db = 1;        // logistic
};

/// The part of the probability that hangs on the link alone: log P(received) = fixed + bits x per_bit.
struct Reception {
  float fixed = 0;
  float per_bit = 0;
};

Reception reception(const Waveform& waveform, double snr_db);

/// The probability that a frame of so many bytes is received.
double success(const Reception& reception, std::size_t bytes);

}  // namespace shakedown::radio_forwarder
