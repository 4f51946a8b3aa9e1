#include "kernels.hpp"

namespace shakedown::pingpong {
namespace {

/// Blocking calls: MPIs have their shortest path there (Open MPI sends a small message without making a request; a
/// persistent request costs a few nanoseconds more).
void echo(const End& end, std::int64_t iterations) {
  if (end.leads) {
    for (std::int64_t i = 0; i < iterations; ++i) {
      MPI_Send(end.out, end.bytes, MPI_BYTE, end.peer, kTag, end.comm);
      MPI_Recv(end.in, end.bytes, MPI_BYTE, end.peer, kTag, end.comm, MPI_STATUS_IGNORE);
    }
  } else {
    for (std::int64_t i = 0; i < iterations; ++i) {
      MPI_Recv(end.in, end.bytes, MPI_BYTE, end.peer, kTag, end.comm, MPI_STATUS_IGNORE);
      MPI_Send(end.out, end.bytes, MPI_BYTE, end.peer, kTag, end.comm);
    }
  }
}

void stream(End& end, std::int64_t iterations) {
  char ack = 0;
  for (std::int64_t i = 0; i < iterations; ++i) {
    MPI_Request* request = end.requests.data();
    if (end.leads) {
      for (int k = 0; k < end.window; ++k) {
        MPI_Isend(end.out, end.bytes, MPI_BYTE, end.peer, kTag, end.comm, request++);
      }
      MPI_Waitall(end.window, end.requests.data(), MPI_STATUSES_IGNORE);
      MPI_Recv(&ack, 1, MPI_CHAR, end.peer, kTag, end.comm, MPI_STATUS_IGNORE);
    } else {
      for (int k = 0; k < end.window; ++k) {
        MPI_Irecv(end.in, end.bytes, MPI_BYTE, end.peer, kTag, end.comm, request++);
      }
      MPI_Waitall(end.window, end.requests.data(), MPI_STATUSES_IGNORE);
      MPI_Send(&ack, 1, MPI_CHAR, end.peer, kTag, end.comm);
    }
  }
}

void both_ways(End& end, std::int64_t iterations) {
  for (std::int64_t i = 0; i < iterations; ++i) {
    MPI_Request* request = end.requests.data();
    for (int k = 0; k < end.window; ++k) {
      MPI_Irecv(end.in, end.bytes, MPI_BYTE, end.peer, kTag, end.comm, request++);
    }
    for (int k = 0; k < end.window; ++k) {
      MPI_Isend(end.out, end.bytes, MPI_BYTE, end.peer, kTag, end.comm, request++);
    }
    MPI_Waitall(2 * end.window, end.requests.data(), MPI_STATUSES_IGNORE);
  }
  char sent = 0;
  char got = 0;
  MPI_Sendrecv(&sent, 1, MPI_CHAR, end.peer, kTag, &got, 1, MPI_CHAR, end.peer, kTag, end.comm, MPI_STATUS_IGNORE);
}

}  // namespace

const char* name_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::latency:
      return "latency";
    case Kernel::bandwidth:
      return "bandwidth";
    case Kernel::bidirectional:
      return "bidirectional";
  }
  return "";
}

void exchange(Kernel kernel, End& end, std::int64_t iterations) {
  switch (kernel) {
    case Kernel::latency:
      return echo(end, iterations);
    case Kernel::bandwidth:
      return stream(end, iterations);
    case Kernel::bidirectional:
      return both_ways(end, iterations);
  }
}

}  // namespace shakedown::pingpong
