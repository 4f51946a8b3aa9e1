// What checkpoints cost a gas: segments of its steps with a checkpoint and without, in turn, and restarts.
#pragma once

#include "run.hpp"

namespace shakedown::hydro {

/// Measure the levels that --levels asks for on n x n cells, a group of cases for each; as measure(). A level that
/// fails is a notice; throws "could not measure" where all do.
void measure_costs(const Place& place, const Options& options, Emitter& emitter, std::int64_t n, double done,
                   double share);

}  // namespace shakedown::hydro
