#include "pivots.hpp"

#include <algorithm>

namespace shakedown::hpl {

void merge_pivots(std::vector<double>& mine, const std::vector<double>& other) {
  const auto width = static_cast<Index>(mine.size() - kPivotHead) / 2;
  const auto copy = [&](Index from, Index count) { std::copy_n(other.begin() + from, count, mine.begin() + from); };
  if (other[0] > mine[0] || (other[0] == mine[0] && other[1] < mine[1])) {
    copy(0, 2);
    copy(kPivotHead, width);
  }
  if (other[2] != 0) {
    mine[2] = 1;
    copy(kPivotHead + width, width);
  }
}

void exchange_pivots(std::vector<double>& mine, std::vector<double>& other, const Grid& grid) {
  other.resize(mine.size());
  const auto count = static_cast<int>(mine.size());
  const auto send_to = [&](int peer) { MPI_Send(mine.data(), count, MPI_DOUBLE, peer, 0, grid.for_pivots); };
  const auto receive_from = [&](int peer) {
    MPI_Recv(other.data(), count, MPI_DOUBLE, peer, 0, grid.for_pivots, MPI_STATUS_IGNORE);
  };
  int power = 1;
  while (2 * power <= grid.p) power *= 2;
  const int me = grid.row;
  if (me >= power) {
    send_to(me - power);
    receive_from(me - power);
    mine = other;
  } else {
    if (me + power < grid.p) {
      receive_from(me + power);
      merge_pivots(mine, other);
    }
    for (int distance = 1; distance < power; distance *= 2) {
      MPI_Sendrecv(mine.data(), count, MPI_DOUBLE, me ^ distance, 0, other.data(), count, MPI_DOUBLE, me ^ distance, 0,
                   grid.for_pivots, MPI_STATUS_IGNORE);
      merge_pivots(mine, other);
    }
    if (me + power < grid.p) send_to(me + power);
  }
}

}  // namespace shakedown::hpl
