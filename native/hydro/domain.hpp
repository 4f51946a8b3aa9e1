// Which part of the grid each rank has, and the exchange of ghosts with those beside it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "common/team.hpp"
#include "hydro.hpp"

namespace shakedown::hydro {

/// Where part k of so many begins; parts differ by at most one.
inline std::int64_t part_begin(std::int64_t whole, std::int64_t parts, std::int64_t k) { return whole * k / parts; }

/// A grid of columns x rows over a grid of ranks. A rank's neighbours are -1 where a wall is.
struct Domain {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  int rank_columns = 1, rank_rows = 1;
  std::int64_t columns = 0, rows = 0;
  Tile own;  // in the whole grid
  int left = -1, right = -1, low = -1, high = -1;
  [[nodiscard]] Walls walls() const { return {left < 0, right < 0, low < 0, high < 0}; }
};

/// `rank_columns` of 0: the grid of ranks whose parts have the shortest edges. Throws a usage error where ranks do not
/// fill the grid, or a rank would have fewer columns or rows than its neighbour needs as ghosts.
Domain divide(MPI_Comm comm, std::int64_t columns, std::int64_t rows, int rank_columns);

/// Fills a field's ghosts: mirrors at walls, the cells of neighbours elsewhere, corners too.
class Ghosts {
 public:
  explicit Ghosts(const Domain& domain);
  /// Every thread of the team calls it; the first alone speaks to other ranks. Ends with a barrier.
  void fill(const Field& field, Team& team, int thread);

 private:
  void columns_of(const Field& field, std::int64_t low, std::int64_t high);
  void take_columns(const Field& field, std::int64_t low, std::int64_t high) const;
  void rows_of(const Field& field) const;

  Domain domain_;
  std::vector<double> to_left_, to_right_, from_left_, from_right_;
};

}  // namespace shakedown::hydro
