// What is timed: plain one-sided calls of MPI, and nothing else.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "content.hpp"

namespace shakedown::onesided {

/// A shape as the origin calls it. `out` and `in` have a place for each operation under way; of a compare-and-swap,
/// `out` has the new values and `compare` the old ones.
struct Call {
  Shape shape;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Aint base = 0;  // where the target's memory begins, in displacements of bytes
  int target = 0;
  std::uint8_t* out = nullptr;
  std::uint8_t* in = nullptr;
  std::uint8_t* compare = nullptr;
  Word next = 0;  // what a compare-and-swap must find
};

/// `iterations` times: the operations of all places, then one flush.
void operate(Call& call, std::int64_t iterations);

}  // namespace shakedown::onesided
