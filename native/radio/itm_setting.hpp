// From a setting to what the steps of the model want.
#pragma once

#include "itm.hpp"
#include "itm_prepared.hpp"

namespace shakedown::radio {

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
