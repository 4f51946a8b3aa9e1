// A setting as the steps of the model want it: checked, and with everything in it that does not depend on the link.
#pragma once

#include <cstdint>

namespace shakedown::radio {

/// One of the curves of variability against distance: c1 + c2 / (1 + ((x - x2) / x3)^2), times (x / x1)^2 / (1 + (x /
/// x1)^2).
struct Curve {
  double c1, c2, x1, x2, x3;  // dB, dB, m, m, m
};

/// What the location and the time of a link are worth: standard normal deviates, and which of them are drawn together.
struct Deviates {
  double time, location, situation;
};

struct Prepared {
  double frequency_mhz;
  double frequency_cbrt, frequency_log, frequency_log10;  // cube root and logarithms of its number in MHz
  double wavenumber_per_m;
  double ground_re, ground_im, ground_abs;  // impedance of the ground, relative
  double refractivity_n;
  Curve median, below, above;         // of the climate: medians, and standard deviations of time below and above them
  double below_factor, above_factor;  // of the frequency
  double ducting_factor, ducting_deviate;  // CD and zD
  double scatter_reach_m;                  // of the frequency, in the effective distance of S13
  Deviates deviates;
  int mode;  // single message, individual (accidental), mobile, broadcast
  bool no_location, no_situation;
  std::uint32_t warnings;  // of the deviates
};

}  // namespace shakedown::radio
