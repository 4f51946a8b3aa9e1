// What the driver says of each device without taking it: for devices that are busy, exclusive or cut into slices too.
#pragma once

#include <vector>

#include "gpu.hpp"

namespace shakedown::gpu {

/// One object a device, with units in the names, and under "reaches" the devices whose memory it can reach itself. What
/// the driver does not tell is left out. Throws Failure where there is no driver or no device.
std::vector<Object> query(const Choice& choice);

}  // namespace shakedown::gpu
