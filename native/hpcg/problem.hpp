// The four grids of the multigrid, and the system on the finest: what both the reference and our own solver work on.
#pragma once

#include <memory>
#include <vector>

#include "csr.hpp"

namespace shakedown::hpcg {

/// A grid, its matrix, and where its points lie in the next finer one.
struct Level {
  explicit Level(const Grid& where) : grid(where), halo(where) {}
  Grid grid;
  Halo halo;
  Csr matrix;
  Array<std::int32_t> finer;  // row of the finer grid for each row; none on the finest
};

struct Problem {
  std::vector<std::unique_ptr<Level>> levels;  // finest first
  Vector b;                                    // for the exact solution of ones
  [[nodiscard]] Level& finest() const { return *levels.front(); }
  /// What the whole grid has, of all ranks.
  std::int64_t equations = 0;
  std::vector<std::int64_t> entries;  // of each level
};

/// Collective.
Problem set_up(Team& team, const Grid& grid);

/// The rules' plain solver: one thread of each rank, one loop after the other.
class Reference {
 public:
  explicit Reference(const Problem& problem);
  double start();
  void precondition(bool by_multigrid);
  double r_dot_z();
  void direction(double beta);
  double apply();
  double advance(double alpha);
  /// z = M r by one V-cycle, and y = A x; the arguments' halos are filled here.
  void cycle(const Vector& r, Vector& z, std::size_t level = 0);
  void multiply(Vector& x, Vector& y);
  [[nodiscard]] const Vector& solution() const { return x_; }

 private:
  [[nodiscard]] double summed(double mine) const;
  const Problem& problem_;
  std::int64_t rows_;
  Vector x_, r_, z_, p_, ap_;
  struct Work {
    Vector r, x, residual;
  };
  std::vector<Work> work_;
};

}  // namespace shakedown::hpcg
