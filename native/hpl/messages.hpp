// Messages under way: non-blocking, of any length, watched by the one thread of a rank that calls MPI.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "layout.hpp"

namespace shakedown::hpl {

/// MPI counts in int; longer messages travel in pieces of so many doubles.
inline constexpr Index kMostDoubles = Index{1} << 28;

/// The lengths in which `count` doubles travel.
inline std::vector<int> pieces(Index count, Index most = kMostDoubles) {
  std::vector<int> lengths;
  for (; count > 0; count -= lengths.back()) lengths.push_back(static_cast<int>(std::min(count, most)));
  return lengths;
}

/// Requests of one purpose: all are done when done() says so, and it must be asked for things to move.
class Requests {
 public:
  void send(const double* from, Index count, int to, int tag, MPI_Comm comm) {
    for (const int length : pieces(count)) {
      MPI_Isend(from, length, MPI_DOUBLE, to, tag, comm, &fresh());
      from += length;
    }
  }
  void receive(double* into, Index count, int from, int tag, MPI_Comm comm) {
    for (const int length : pieces(count)) {
      MPI_Irecv(into, length, MPI_DOUBLE, from, tag, comm, &fresh());
      into += length;
    }
  }
  [[nodiscard]] bool done() {
    if (requests_.empty()) return true;
    int flag = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE);
    if (flag != 0) requests_.clear();
    return flag != 0;
  }
  [[nodiscard]] bool empty() const { return requests_.empty(); }

 private:
  MPI_Request& fresh() { return requests_.emplace_back(MPI_REQUEST_NULL); }
  std::vector<MPI_Request> requests_;
};

}  // namespace shakedown::hpl
