// What our loops are measured against, for scripts/bench/peers/nbody.py: built with the tests only.
#pragma once

#include "kernel.hpp"

namespace shakedown::nbody {

/// The formula as a compiler vectorises it for this instruction set, free to reorder and to estimate (-ffast-math).
extern const Isa kCompiler;
/// Our arithmetic on one source that never leaves its registers: no loads, no loop over tiles. `targets x sources`
/// terms.
extern const Isa kRegisters;

/// So many independent multiply-adds of whole vectors as `count`; the number of lanes.
std::size_t fma32(std::size_t count);
std::size_t fma64(std::size_t count);

}  // namespace shakedown::nbody
