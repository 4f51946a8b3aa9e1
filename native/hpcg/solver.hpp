// Our own solver: the same iterations on threads, over the matrix in chunks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "problem.hpp"
#include "sell.hpp"

namespace shakedown::hpcg {

/// Bytes that a pass must move, each value, column and number of a vector once: the README has the formulas.
struct Traffic {
  double multiply = 0, smooth_zero = 0, restriction = 0, smooth = 0, prolongation = 0;  // of one level
};

class Solver {
 public:
  /// The benchmark's optimisation: matrices in chunks, blocks of the sweeps. Collective. The rows of the problem's
  /// matrices are not needed afterwards.
  Solver(Team& team, const Isa& isa, const Problem& problem);

  double start();
  void precondition(bool by_multigrid);
  double r_dot_z();
  void direction(double beta);
  double apply();
  double advance(double alpha);

  /// As the reference's; also what is timed alone.
  void cycle(const Vector& r, Vector& z);
  void multiply(Vector& x, Vector& y, std::size_t level = 0);
  /// One symmetric sweep on the finest grid: from zero, and from any z.
  void smooth_zero(const Vector& r, Vector& z) { smooth_from_zero(0, r, z); }
  void smooth(const Vector& r, Vector& z) { smooth_from(0, r, z); }
  double dot(const Vector& x, const Vector& y);

  [[nodiscard]] Vector vector(std::size_t level = 0) const;
  [[nodiscard]] Vector& solution() { return x_; }
  [[nodiscard]] Vector& right_side() { return b_; }
  [[nodiscard]] Sell& matrix() const { return *levels_.front()->matrix; }
  [[nodiscard]] const Grid& grid(std::size_t level = 0) const { return problem_.levels[level]->grid; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

  /// Of this rank: of each level; of a V-cycle; and of one iteration of conjugate gradients.
  [[nodiscard]] Traffic traffic(std::size_t level) const;
  [[nodiscard]] double cycle_bytes() const;
  [[nodiscard]] double iteration_bytes() const;

 private:
  struct Depth {
    std::unique_ptr<Sell> matrix;
    std::unique_ptr<Sweeps> sweeps;
    Vector r, x, t;
    // To the next coarser level: chunks with points of it, and which row of theirs is which point.
    std::vector<std::int32_t> chunks, points;
  };
  void add_depth(const Level& level);
  void find_points(Depth& depth, const Array<std::int32_t>& finer, std::int64_t rows) const;
  void smooth_from_zero(std::size_t depth, const Vector& r, Vector& z);
  void smooth_from(std::size_t depth, const Vector& r, Vector& z);
  void descend(std::size_t depth, const Vector& r, Vector& z);
  /// The sum of f(first row, rows) over stretches of rows, whose order no number of threads changes.
  double summed(const std::function<double(std::int64_t, std::int64_t)>& f);

  Team& team_;
  const Isa& isa_;
  const Problem& problem_;
  std::int64_t rows_;  // whole chunks
  std::vector<std::unique_ptr<Depth>> levels_;
  Vector b_, x_, r_, z_, p_, ap_;
  std::vector<double> partial_;
};

}  // namespace shakedown::hpcg
