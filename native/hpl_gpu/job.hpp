// What programs with a rank for each GPU do alike around their runs: who is where, on what, and what a device that
// fails ends.
#pragma once

#include <functional>

#include "common/emit.hpp"
#include "devices.hpp"
#include "gpu/watch.hpp"

namespace shakedown::hpl_gpu {

/// Each rank's place in the grid and its device. Rank 0 has the list; every rank calls it.
std::vector<Object> places(const hpl::World& world, const Grid& grid, const gpu::Info& info);

/// What each rank's device did meanwhile. Rank 0 has the list; ranks whose management library was silent are left out.
std::vector<Object> conditions(const hpl::World& world, const gpu::Conditions& mine);

/// The facts of the start event.
Object start_facts(const Options& options, const hpl::World& world, gpu::Device& device, const Awareness& aware,
                   const std::vector<Object>& grid);

/// The exit code of `work`. A device that failed in the middle of a run ends it for all: the others wait for this
/// rank's messages.
int guarded(const char* program, Emitter& emitter, const hpl::World& world, const std::function<int()>& work);

}  // namespace shakedown::hpl_gpu
