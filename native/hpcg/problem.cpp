#include "problem.hpp"

#include <algorithm>

namespace shakedown::hpcg {
namespace {

std::int64_t total(MPI_Comm comm, std::int64_t mine) {
  std::int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, comm);
  return all;
}

}  // namespace

Problem set_up(Team& team, const Grid& grid) {
  Problem problem;
  Grid here = grid;
  for (int depth = 0; depth < kLevels; ++depth) {
    auto level = std::make_unique<Level>(here);
    level->matrix = assemble(team, here, level->halo);
    if (depth > 0) {
      const Grid& fine = problem.levels.back()->grid;
      level->finer = Array<std::int32_t>(here.rows());
      for (std::int64_t row = 0; row < here.rows(); ++row) {
        const std::int64_t i = row % here.n.x, j = row / here.n.x % here.n.y, k = row / (here.n.x * here.n.y);
        level->finer[row] = static_cast<std::int32_t>(fine.row(2 * i, 2 * j, 2 * k));
      }
    }
    problem.entries.push_back(total(grid.comm, level->matrix.entries()));
    problem.levels.push_back(std::move(level));
    here = here.coarser();
  }
  problem.equations = total(grid.comm, grid.rows());
  const Csr& a = problem.finest().matrix;
  problem.b = Vector(a.rows(), problem.finest().halo.size());
  team.run([&](int thread) {
    const auto mine = part_of(a.rows(), team.size(), thread);
    for (std::int64_t row = mine.first; row < mine.last; ++row) {
      problem.b[row] = kDiagonal + kBeside * static_cast<double>(a.begin[row + 1] - a.begin[row] - 1);
    }
  });
  return problem;
}

Reference::Reference(const Problem& problem) : problem_(problem), rows_(problem.finest().grid.rows()) {
  const auto vector = [](const Level& level) { return Vector(level.grid.rows(), level.halo.size()); };
  for (auto* const one : {&x_, &r_, &z_, &p_, &ap_}) *one = vector(problem.finest());
  for (const auto& level : problem.levels) work_.push_back({vector(*level), vector(*level), vector(*level)});
}

double Reference::summed(double mine) const {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, problem_.finest().grid.comm);
  return all;
}

double Reference::start() {
  for (auto* const one : {&x_, &z_, &p_, &ap_}) std::fill_n(one->data(), rows_, 0.0);
  std::copy_n(problem_.b.data(), rows_, r_.data());
  return summed(reference_dot(r_.data(), r_.data(), rows_));
}

void Reference::precondition(bool by_multigrid) {
  if (by_multigrid) {
    cycle(r_, z_);
  } else {
    std::copy_n(r_.data(), rows_, z_.data());
  }
}

double Reference::r_dot_z() { return summed(reference_dot(r_.data(), z_.data(), rows_)); }

void Reference::direction(double beta) {
  for (std::int64_t i = 0; i < rows_; ++i) p_[i] = z_[i] + beta * p_[i];
}

double Reference::apply() {
  multiply(p_, ap_);
  return summed(reference_dot(p_.data(), ap_.data(), rows_));
}

double Reference::advance(double alpha) {
  for (std::int64_t i = 0; i < rows_; ++i) x_[i] += alpha * p_[i];
  for (std::int64_t i = 0; i < rows_; ++i) r_[i] -= alpha * ap_[i];
  return summed(reference_dot(r_.data(), r_.data(), rows_));
}

void Reference::multiply(Vector& x, Vector& y) {
  problem_.finest().halo.exchange(x.data());
  reference_multiply(problem_.finest().matrix, x.data(), y.data());
}

void Reference::cycle(const Vector& r, Vector& z, std::size_t depth) {
  auto& level = *problem_.levels[depth];
  const std::int64_t rows = level.grid.rows();
  std::fill_n(z.data(), round_up(rows, kRows) + level.halo.size(), 0.0);
  reference_sweep(level.matrix, r.data(), z.data());
  if (depth + 1 == problem_.levels.size()) return;
  Work& work = work_[depth];
  Work& next = work_[depth + 1];
  const auto& finer = problem_.levels[depth + 1]->finer;
  level.halo.exchange(z.data());
  reference_multiply(level.matrix, z.data(), work.residual.data());
  for (std::int64_t k = 0; k < finer.size(); ++k) next.r[k] = r[finer[k]] - work.residual[finer[k]];
  cycle(next.r, next.x, depth + 1);
  for (std::int64_t k = 0; k < finer.size(); ++k) z[finer[k]] += next.x[k];
  level.halo.exchange(z.data());
  reference_sweep(level.matrix, r.data(), z.data());
}

}  // namespace shakedown::hpcg
