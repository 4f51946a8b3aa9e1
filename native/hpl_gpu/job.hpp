// What programs with a rank for each GPU do alike around their runs: who is where, on what, and what a device that
// fails ends.
#pragma once

#include <functional>

#include "common/emit.hpp"
#include "devices.hpp"
#include "gpu/watch.hpp"

namespace shakedown::hpl_gpu {

/// What each rank's device did meanwhile. Rank 0 has the list; ranks whose management library was silent are left out.
std::vector<Object> conditions(const hpl::World& world, const gpu::Conditions& mine);

/// The facts of the start event, with every rank's place in the grid of the first run: those of others are said by
/// their cases. Rank 0 has them; every rank calls it.
Object start_facts(const Options& options, const hpl::World& world, gpu::Device& device, const Awareness& aware,
                   const hpl::Config& first);

/// What had to be said about the HPL.dat, and what of it has no meaning here.
void tell_of_options(Emitter& emitter, const Options& options, const std::vector<std::string>& notices);

/// Every run of the sweep, on every rank alike: one that cannot be measured is skipped where there are others
/// (`skipped` on rank 0). The exit code.
int run_sweep(const hpl::World& world, Emitter& emitter, const hpl::Dat& dat,
              const std::function<void(const hpl::Variant&)>& run, const std::function<void()>& skipped);

/// The exit code of `work`. A device that failed in the middle of a run ends it for all: the others wait for this
/// rank's messages.
int guarded(const char* program, Emitter& emitter, const hpl::World& world, const std::function<int()>& work);

}  // namespace shakedown::hpl_gpu
