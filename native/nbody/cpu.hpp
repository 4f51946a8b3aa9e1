// The CPU's backend: a team of pinned threads and the loops of one instruction set.
#pragma once

#include "common/team.hpp"
#include "kernel.hpp"
#include "nbody.hpp"

namespace shakedown::nbody {

/// Bytes that the backend takes for so many bodies.
std::uint64_t cpu_bytes(std::size_t bodies, Precision precision);
/// `team` and `isa` must outlive it. Throws "could not measure" where the memory does not suffice.
std::unique_ptr<Backend> make_cpu(Team& team, const Isa& isa, Precision precision, const Physics& physics,
                                  std::size_t bodies);

}  // namespace shakedown::nbody
