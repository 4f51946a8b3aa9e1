#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cg.hpp"

namespace shakedown::hpcg {
namespace {

/// The larger; NaN where either is one.
double worse(double a, double b) { return b <= a || std::isnan(a) ? a : b; }

double largest(MPI_Comm comm, double mine) {
  // NaN is larger than all: MPI_MAX does not say so.
  double sent = std::isnan(mine) ? std::numeric_limits<double>::infinity() : mine, all = 0;
  MPI_Allreduce(&sent, &all, 1, MPI_DOUBLE, MPI_MAX, comm);
  return all;
}

/// A number from -1 to 1 for each row of the whole grid, the same however ranks divide it (splitmix64's last steps; G.
/// L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
double drawn(std::uint64_t row, std::uint64_t seed) {
  std::uint64_t x = 0x9e3779b97f4a7c15U * (row + 1) + seed;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  x ^= x >> 31U;
  return static_cast<double>(x >> 11U) * 0x1p-52 - 1;
}

void draw(const Grid& grid, std::uint64_t seed, Vector& to) {
  for (std::int64_t row = 0; row < grid.rows(); ++row)
    to[row] = drawn(static_cast<std::uint64_t>(grid.global(row)), seed);
}

double apart(const Grid& grid, const Vector& x, const Vector& y) {
  double most = 0, size = 0;
  for (std::int64_t row = 0; row < grid.rows(); ++row) {
    const double one = std::fabs(x[row] - y[row]);
    most = worse(most, one);
    size = std::max(size, std::fabs(y[row]));
  }
  return largest(grid.comm, most) / largest(grid.comm, size);
}

/// |x'Fy - y'Fx| over the rounding of so long a sum, as the rules have it; at most 1.
template <class Apply>
double asymmetry(Solver& solver, Vector& x, Vector& y, Apply&& apply) {
  Vector fx = solver.vector(), fy = solver.vector();
  apply(x, fx);
  apply(y, fy);
  const double one = solver.dot(x, fy), other = solver.dot(y, fx);
  const double sizes = std::sqrt(solver.dot(x, x)) * std::sqrt(solver.dot(y, y));
  constexpr double kNorm = 2 * kDiagonal;
  return std::fabs(one - other) / (2 * kNorm * sizes * std::numeric_limits<double>::epsilon());
}

/// The rules' test of the method: a diagonal of a million, and of nine larger numbers, leaves few iterations.
void test_iterations(Solver& solver, Deviations& deviations) {
  const Grid& grid = solver.grid();
  double* const diagonal = solver.matrix().diagonal();
  Vector& b = solver.right_side();
  const std::vector<double> kept(diagonal, diagonal + solver.rows()), kept_b(b.data(), b.data() + solver.rows());
  for (std::int64_t row = 0; row < grid.rows(); ++row) {
    const std::int64_t number = grid.global(row);
    const double factor = number < 9 ? static_cast<double>(number + 2) * 1e6 : 1e6;
    diagonal[row] *= factor;
    b[row] *= factor;
  }
  const auto plain = conjugate_gradients(solver, {kReferenceIterations, 1e-12, false});
  const auto multigrid = conjugate_gradients(solver, {kReferenceIterations, 1e-12, true});
  std::copy(kept.begin(), kept.end(), diagonal);
  std::copy(kept_b.begin(), kept_b.end(), b.data());
  deviations.add("iterations_plain", plain.iterations, kMostPlain);
  deviations.add("iterations_multigrid", multigrid.iterations, kMostPreconditioned);
}

}  // namespace

double Deviation::over() const { return value / bound; }

double Deviations::worst() const {
  double most = 0;
  for (const auto& one : all_) most = worse(most, one.over());
  return most;
}

Object Deviations::facts() const {
  Object facts;
  for (const auto& one : all_) facts.add(one.name, one.over());
  return facts;
}

void test_solver(Solver& solver, Reference& reference, Deviations& deviations) {
  const Grid& grid = solver.grid();
  Vector x = solver.vector(), y = solver.vector(), ours = solver.vector(), plain = solver.vector();
  draw(grid, 1, x);
  draw(grid, 2, y);
  solver.multiply(x, ours);
  reference.multiply(x, plain);
  // Sums of 27 products of numbers up to 1: a part in 10^13 leaves room for their order.
  deviations.add("product", apart(grid, ours, plain), 1e-13);
  solver.cycle(x, ours);
  reference.cycle(x, plain);
  deviations.add("cycle", apart(grid, ours, plain), 1e-12);
  deviations.add("symmetry_of_matrix",
                 asymmetry(solver, x, y, [&](Vector& from, Vector& to) { solver.multiply(from, to); }), 1);
  deviations.add("symmetry_of_multigrid",
                 asymmetry(solver, x, y, [&](Vector& from, Vector& to) { solver.cycle(from, to); }), 1);
  test_iterations(solver, deviations);
}

namespace {

/// A whole number below 65536 for each point of a whole grid: sums of 27 of them, and 27 times one, are exact.
double whole_number(const Triple& whole, const Triple& p) {
  return std::floor(0x1p15 * (drawn(static_cast<std::uint64_t>(p.x + whole.x * (p.y + whole.y * p.z)), 3) + 1));
}

/// What a row of A times those numbers is, from the grid alone.
double expected_product(const Grid& grid, const Triple& p) {
  const Triple whole = grid.whole();
  double sum = (kDiagonal - kBeside) * whole_number(whole, p);
  for (std::int64_t z = std::max<std::int64_t>(p.z - 1, 0); z <= std::min(p.z + 1, whole.z - 1); ++z) {
    for (std::int64_t y = std::max<std::int64_t>(p.y - 1, 0); y <= std::min(p.y + 1, whole.y - 1); ++y) {
      for (std::int64_t x = std::max<std::int64_t>(p.x - 1, 0); x <= std::min(p.x + 1, whole.x - 1); ++x) {
        sum += kBeside * whole_number(whole, {x, y, z});
      }
    }
  }
  return sum;
}

}  // namespace

std::optional<Wrong> wrong_row(Solver& solver, std::size_t level) {
  const Grid& grid = solver.grid(level);
  Vector numbers = solver.vector(level), found = solver.vector(level);
  for (std::int64_t row = 0; row < grid.rows(); ++row) numbers[row] = whole_number(grid.whole(), grid.point(row));
  solver.multiply(numbers, found, level);
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t mine = kNone, first = kNone;
  std::array<double, 2> sent{}, all{};
  for (std::int64_t row = 0; row < grid.rows(); ++row) {
    const double expected = expected_product(grid, grid.point(row));
    if (found[row] == expected || grid.global(row) >= mine) continue;
    mine = grid.global(row);
    sent = {found[row], expected};
  }
  MPI_Allreduce(&mine, &first, 1, MPI_INT64_T, MPI_MIN, grid.comm);
  if (first == kNone) return std::nullopt;
  if (first != mine) sent = {};
  MPI_Allreduce(sent.data(), all.data(), 2, MPI_DOUBLE, MPI_SUM, grid.comm);
  return Wrong{first, all[0], all[1]};
}

double distance_from_ones(const Vector& x, const Grid& grid) {
  double most = 0;
  for (std::int64_t row = 0; row < grid.rows(); ++row) {
    const double one = std::fabs(x[row] - 1);
    most = worse(most, one);
  }
  return largest(grid.comm, most);
}

double true_residual(Solver& solver) {
  Vector rest = solver.vector();
  solver.multiply(solver.solution(), rest);
  const Vector& b = solver.right_side();
  for (std::int64_t row = 0; row < solver.grid().rows(); ++row) rest[row] = b[row] - rest[row];
  return std::sqrt(solver.dot(rest, rest) / solver.dot(b, b));
}

}  // namespace shakedown::hpcg
