// Waiting asleep: MPI's own waits spin.
#pragma once

#include <mpi.h>
#include <time.h>

namespace shakedown {

/// Until a request is done: a rank that waits so leaves its core and the memory to those that are measured.
inline void rest(MPI_Request& request) {
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    const timespec nap{0, 200'000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace shakedown
