// Memory of a GPU, found out from the pointer: read and written through the driver that the program itself has loaded.
// A program without one pays a look for a library that is not there, at each checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "boxes.hpp"
#include "outcome.hpp"

namespace shakedown::checkpoint {

class Device;

/// The GPU in whose memory this lies; null where the processor reads it (also pinned and managed memory). An error
/// where the driver does not answer.
Outcome device_of(const void* pointer, std::shared_ptr<Device>& device);

/// As for_each_run: each run as bytes that the processor can read while it is visited, after all work that the device
/// had been given.
Outcome read_runs(Device& device, const Protected& part,
                  const std::function<void(const std::uint8_t*, std::uint64_t)>& visit);

/// As for_each_run: what `fill` writes into each run goes to the device; it is there when this returns.
Outcome write_runs(Device& device, const Protected& part,
                   const std::function<void(std::uint8_t*, std::uint64_t)>& fill);

}  // namespace shakedown::checkpoint
