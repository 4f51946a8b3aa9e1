#include "blocks.hpp"

namespace shakedown::hpl_gpu {

void collect_block(const BlockMove& move, double* sums, hpl::Index width, int root) {
  const auto bytes = static_cast<std::size_t>(width) * sizeof(double);
  move.device.copy(move.host, sums, bytes, move.stream);
  move.stream.wait();
  const bool mine = root == move.grid.column;
  MPI_Reduce(mine ? MPI_IN_PLACE : move.host, mine ? move.host : nullptr, static_cast<int>(width), MPI_DOUBLE, MPI_SUM,
             root, move.grid.in_row);
  if (mine) move.device.copy(sums, move.host, bytes, move.stream);
}

void spread_block(const BlockMove& move, double* x, hpl::Index width, int root) {
  const auto bytes = static_cast<std::size_t>(width) * sizeof(double);
  move.stream.wait();  // what was copied from there before
  if (root == move.grid.row) {
    move.device.copy(move.host, x, bytes, move.stream);
    move.stream.wait();
  }
  MPI_Bcast(move.host, static_cast<int>(width), MPI_DOUBLE, root, move.grid.in_column);
  if (root != move.grid.row) move.device.copy(x, move.host, bytes, move.stream);
}

}  // namespace shakedown::hpl_gpu
