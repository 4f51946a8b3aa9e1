// A setting as the loops want it: checked, and with everything in it that does not depend on the link.
#pragma once

#include <cstdint>

#include "itm.hpp"

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
  double wavenumber_per_m;
  double ground_re, ground_im, ground_abs;  // impedance of the ground, relative
  double refractivity_n;
  Curve median, below, above;         // of the climate: medians, and standard deviations of time below and above them
  double below_factor, above_factor;  // of the frequency
  double ducting_factor, ducting_deviate;  // CD and zD
  Deviates deviates;
  int mode;  // single message, individual (accidental), mobile, broadcast
  bool no_location, no_situation;
  std::uint32_t warnings;  // of the deviates
};

/// What can be checked without the heights of the antennas, in the reference's order. `warnings` gets its bits also
/// where an error follows.
ItmError check(const Setting& setting, std::uint32_t& warnings);
ItmError check_heights(double tx_height_m, double rx_height_m, std::uint32_t& warnings);

/// Of a setting that passed its checks. The ground is refused (1013) by the loops' side: see bad_ground.
Prepared prepare(const Setting& setting);
/// Whether the reference refuses the impedance of this ground.
inline bool bad_ground(const Prepared& prepared) {
  return prepared.ground_re <= (prepared.ground_im < 0 ? -prepared.ground_im : prepared.ground_im);
}

}  // namespace shakedown::radio
