// What is timed: plain MPI calls between two ranks, and nothing else.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shakedown::pingpong {

enum class Kernel { latency, bandwidth, bidirectional };
const char* name_of(Kernel kernel);

/// One end of a pair. `requests` has room for two windows.
struct End {
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = 0;
  bool leads = false;
  std::uint8_t* out = nullptr;
  std::uint8_t* in = nullptr;
  int bytes = 0;
  int window = 0;
  std::vector<MPI_Request> requests;
};

inline constexpr int kTag = 1;

/// latency: `iterations` times a message there and one back. bandwidth: windows of messages from the leader, each
/// window acknowledged when all of it has arrived. bidirectional: windows both ways at once, acknowledged both ways at
/// the end. All messages of a call go from and to the same buffer, as in other MPI benchmarks: what is measured is the
/// transport between warm buffers, not the memory.
void exchange(Kernel kernel, End& end, std::int64_t iterations);

}  // namespace shakedown::pingpong
