#include "solver.hpp"

#include <algorithm>

namespace shakedown::hpcg {
namespace {

/// Rows that one call of a vector's loop takes: two vectors of it stay in a level-1 cache.
constexpr std::int64_t kStretch = 1024;

Vector vector_of(const Level& level) { return {level.grid.rows(), level.halo.size()}; }

}  // namespace

Solver::Solver(Team& team, const Isa& isa, const Problem& problem)
    : team_(team), isa_(isa), problem_(problem), rows_(round_up(problem.finest().grid.rows(), kRows)) {
  for (const auto& level : problem.levels) add_depth(*level);
  for (std::size_t k = 0; k + 1 < levels_.size(); ++k) {
    find_points(*levels_[k], problem.levels[k + 1]->finer, problem.levels[k]->grid.rows());
  }
  for (auto* const one : {&b_, &x_, &r_, &z_, &p_, &ap_}) *one = vector();
  partial_.resize(static_cast<std::size_t>((rows_ + kStretch - 1) / kStretch));
  team_.run([&](int thread) {
    const auto mine = part_of(rows_, team_.size(), thread);
    for (auto* const one : {&x_, &r_, &z_, &p_, &ap_}) std::fill_n(one->data() + mine.first, mine.last - mine.first, 0);
    std::copy_n(problem.b.data() + mine.first, mine.last - mine.first, b_.data() + mine.first);
  });
}

Vector Solver::vector(std::size_t level) const { return vector_of(*problem_.levels[level]); }

void Solver::add_depth(const Level& level) {
  auto depth = std::make_unique<Depth>();
  depth->matrix = std::make_unique<Sell>(team_, level.matrix);
  const Triple n = level.grid.n;
  depth->sweeps = std::make_unique<Sweeps>(team_, *depth->matrix, n.x * n.y, n.x);
  depth->r = vector_of(level);
  depth->x = vector_of(level);
  depth->t = vector_of(level);
  levels_.push_back(std::move(depth));
}

void Solver::find_points(Depth& depth, const Array<std::int32_t>& finer, std::int64_t rows) const {
  std::vector<std::int32_t> point(static_cast<std::size_t>(round_up(rows, kRows)), -1);
  for (std::int64_t k = 0; k < finer.size(); ++k) point[static_cast<std::size_t>(finer[k])] = static_cast<int>(k);
  for (std::size_t first = 0; first < point.size(); first += kRows) {
    const auto* const from = point.data() + first;
    if (std::all_of(from, from + kRows, [](std::int32_t k) { return k < 0; })) continue;
    depth.chunks.push_back(static_cast<std::int32_t>(first / kRows));
    depth.points.insert(depth.points.end(), from, from + kRows);
  }
}

double Solver::summed(const std::function<double(std::int64_t, std::int64_t)>& f) {
  const auto count = static_cast<std::int64_t>(partial_.size());
  team_.run([&](int thread) {
    const std::int64_t end = count * (thread + 1) / team_.size();
    for (std::int64_t k = count * thread / team_.size(); k < end; ++k) {
      partial_[static_cast<std::size_t>(k)] = f(k * kStretch, std::min(kStretch, rows_ - k * kStretch));
    }
  });
  double mine = 0, all = 0;
  for (const double one : partial_) mine += one;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, grid().comm);
  return all;
}

double Solver::dot(const Vector& x, const Vector& y) {
  return summed([&](std::int64_t at, std::int64_t n) { return isa_.dot(x.data() + at, y.data() + at, n); });
}

double Solver::start() {
  return summed([&](std::int64_t at, std::int64_t n) {
    std::fill_n(x_.data() + at, n, 0.0);
    std::fill_n(p_.data() + at, n, 0.0);
    std::copy_n(b_.data() + at, n, r_.data() + at);
    return isa_.dot(r_.data() + at, r_.data() + at, n);
  });
}

void Solver::precondition(bool by_multigrid) {
  if (by_multigrid) return cycle(r_, z_);
  team_.run([&](int thread) {
    const auto mine = part_of(rows_, team_.size(), thread);
    std::copy_n(r_.data() + mine.first, mine.last - mine.first, z_.data() + mine.first);
  });
}

double Solver::r_dot_z() { return dot(r_, z_); }

void Solver::direction(double beta) {
  team_.run([&](int thread) {
    const auto mine = part_of(rows_, team_.size(), thread);
    isa_.direction(z_.data() + mine.first, beta, p_.data() + mine.first, mine.last - mine.first);
  });
}

double Solver::apply() {
  problem_.finest().halo.exchange(p_.data());
  const Matrix a = matrix().view();
  return summed([&](std::int64_t at, std::int64_t n) {
    isa_.multiply(a, p_.data(), ap_.data(), at / kRows, (at + n) / kRows);
    return isa_.dot(p_.data() + at, ap_.data() + at, n);
  });
}

double Solver::advance(double alpha) {
  return summed([&](std::int64_t at, std::int64_t n) {
    return isa_.advance(p_.data() + at, ap_.data() + at, alpha, x_.data() + at, r_.data() + at, n);
  });
}

void Solver::multiply(Vector& x, Vector& y, std::size_t level) {
  problem_.levels[level]->halo.exchange(x.data());
  const Sell& matrix = *levels_[level]->matrix;
  const Matrix a = matrix.view();
  team_.run([&](int thread) {
    const auto mine = part_of(matrix.chunks() * kRows, team_.size(), thread);
    isa_.multiply(a, x.data(), y.data(), mine.first / kRows, mine.last / kRows);
  });
}

void Solver::smooth_from_zero(std::size_t k, const Vector& r, Vector& z) {
  Depth& depth = *levels_[k];
  // What the neighbours have is zero too.
  std::fill_n(z.data() + depth.matrix->chunks() * kRows, problem_.levels[k]->halo.size(), 0.0);
  const Matrix a = depth.matrix->view();
  team_.run([&](int thread) {
    depth.sweeps->run(
        thread,
        [&](std::int64_t first, std::int64_t last) { isa_.forward_from_zero(a, r.data(), z.data(), first, last); },
        [&](std::int64_t first, std::int64_t last) { isa_.backward_from_zero(a, z.data(), first, last); });
  });
}

void Solver::smooth_from(std::size_t k, const Vector& r, Vector& z) {
  Depth& depth = *levels_[k];
  problem_.levels[k]->halo.exchange(z.data());
  const Matrix a = depth.matrix->view();
  double* const t = depth.t.data();
  team_.run([&](int thread) {
    depth.sweeps->run(
        thread, [&](std::int64_t first, std::int64_t last) { isa_.forward(a, r.data(), z.data(), t, first, last); },
        [&](std::int64_t first, std::int64_t last) { isa_.backward(a, t, z.data(), first, last); });
  });
}

void Solver::cycle(const Vector& r, Vector& z) { descend(0, r, z); }

void Solver::descend(std::size_t k, const Vector& r, Vector& z) {
  smooth_from_zero(k, r, z);
  if (k + 1 == levels_.size()) return;
  Depth& depth = *levels_[k];
  Depth& next = *levels_[k + 1];
  problem_.levels[k]->halo.exchange(z.data());
  const Matrix a = depth.matrix->view();
  const auto count = static_cast<std::int64_t>(depth.chunks.size());
  team_.run([&](int thread) {
    isa_.restrict_residual(a, r.data(), z.data(), depth.chunks.data(), depth.points.data(), next.r.data(),
                           count * thread / team_.size(), count * (thread + 1) / team_.size());
  });
  descend(k + 1, next.r, next.x);
  const auto& finer = problem_.levels[k + 1]->finer;
  team_.run([&](int thread) {
    const std::int64_t end = finer.size() * (thread + 1) / team_.size();
    for (std::int64_t i = finer.size() * thread / team_.size(); i < end; ++i) z[finer[i]] += next.x[i];
  });
  smooth_from(k, r, z);
}

Traffic Solver::traffic(std::size_t k) const {
  constexpr double kEntry = sizeof(double) + sizeof(std::int32_t), kNumber = sizeof(double);
  const Depth& depth = *levels_[k];
  const auto rows = static_cast<double>(problem_.levels[k]->grid.rows());
  const auto entries = depth.matrix->entries();
  const double lower = kEntry * static_cast<double>(entries.lower), upper = kEntry * static_cast<double>(entries.upper);
  Traffic t;
  t.multiply = lower + upper + 3 * kNumber * rows;                              // diagonal, x and y
  t.smooth_zero = (lower + 3 * kNumber * rows) + (upper + 3 * kNumber * rows);  // diagonal, r, x; diagonal, x twice
  t.smooth = (lower + upper + 5 * kNumber * rows) + (upper + 4 * kNumber * rows);
  if (k + 1 == levels_.size()) return t;
  const auto coarse = static_cast<double>(problem_.levels[k + 1]->grid.rows());
  for (const auto chunk : depth.chunks) {
    t.restriction += static_cast<double>(depth.matrix->slots(chunk) * kRows) * kEntry + 2 * kNumber * kRows;
  }
  t.restriction += kNumber * (rows + coarse);
  t.prolongation =
      (sizeof(std::int32_t) + kNumber) * coarse + 2 * kNumber * kRows * static_cast<double>(depth.chunks.size());
  return t;
}

double Solver::cycle_bytes() const {
  double bytes = 0;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const Traffic t = traffic(k);
    bytes += t.smooth_zero;
    if (k + 1 < levels_.size()) bytes += t.restriction + t.prolongation + t.smooth;
  }
  return bytes;
}

double Solver::iteration_bytes() const {
  // r'z; p = z + beta p; A p with p'Ap; x and r.
  const double number = sizeof(double) * static_cast<double>(problem_.finest().grid.rows());
  return cycle_bytes() + traffic(0).multiply + (2 + 3 + 6) * number;
}

}  // namespace shakedown::hpcg
