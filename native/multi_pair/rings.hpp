// What is timed of a ring: every rank sends to both neighbours and receives from both. Plain MPI calls, nothing else.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "pairing.hpp"

namespace shakedown::multi_pair {

/// The two ways of hpcc: two MPI_Sendrecv, to the right and then to the left; or all four messages at once.
enum class RingMethod : std::uint8_t { sendrecv, nonblocking };
const char* name_of(RingMethod method);

inline constexpr int kToRight = 1;
inline constexpr int kToLeft = 2;

struct RingEnd {
  MPI_Comm comm = MPI_COMM_NULL;
  Neighbours beside;
  int bytes = 0;
  std::uint8_t* to_right = nullptr;
  std::uint8_t* to_left = nullptr;
  std::uint8_t* from_left = nullptr;
  std::uint8_t* from_right = nullptr;
};

void exchange(RingMethod method, const RingEnd& end, std::int64_t iterations);

}  // namespace shakedown::multi_pair
