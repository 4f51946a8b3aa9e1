// Which part of the grid each rank has, and what it needs of those beside it.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "hpcg.hpp"

namespace shakedown::hpcg {

struct Triple {
  std::int64_t x = 0, y = 0, z = 0;
  [[nodiscard]] std::int64_t product() const { return x * y * z; }
};

/// The same n points on each of so many ranks, x fastest, in the order of ranks x fastest too.
struct Grid {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  Triple ranks{1, 1, 1}, at;  // ranks along each dimension, and where this one is
  Triple n;                   // points of a rank
  [[nodiscard]] std::int64_t rows() const { return n.product(); }
  [[nodiscard]] std::int64_t row(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return i + n.x * (j + n.y * k);
  }
  /// Where a row of this rank lies in the whole grid.
  [[nodiscard]] Triple point(std::int64_t row) const {
    return {at.x * n.x + row % n.x, at.y * n.y + row / n.x % n.y, at.z * n.z + row / (n.x * n.y)};
  }
  [[nodiscard]] Triple whole() const { return {ranks.x * n.x, ranks.y * n.y, ranks.z * n.z}; }
  /// The number of a row in the whole grid.
  [[nodiscard]] std::int64_t global(std::int64_t row) const {
    const Triple p = point(row), w = whole();
    return p.x + w.x * (p.y + w.y * p.z);
  }
  [[nodiscard]] Grid coarser() const {
    Grid g = *this;
    g.n = {n.x / 2, n.y / 2, n.z / 2};
    return g;
  }
};

/// The division of ranks whose parts have the least surface.
Triple divided(int size, const Triple& n);
Grid grid_of(MPI_Comm comm, const Triple& n);

/// Values beside this rank's rows, which it keeps behind them: where each lies, and their exchange.
class Halo {
 public:
  explicit Halo(const Grid& grid);
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The column of the point (i, j, k), of which at least one is -1 or n; -1 where the grid ends there.
  [[nodiscard]] std::int64_t column(std::int64_t i, std::int64_t j, std::int64_t k) const;
  /// Fill a vector's halo; collective, and of one thread.
  void exchange(double* x);

 private:
  struct Side {
    int peer = -1;
    std::array<std::int64_t, 3> low{}, count{};  // of the points that the peer needs
    std::int64_t begin = 0, size = 0;            // of those that it has, in the halo
    std::vector<double> out;
  };
  Grid grid_;
  std::int64_t first_ = 0, size_ = 0;
  std::array<Side, 27> sides_;
};

}  // namespace shakedown::hpcg
