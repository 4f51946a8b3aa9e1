// The rows of U by each of the three ways, at orders around the blocks' edges.
#include "solve.hpp"

#include <cmath>

#include "hpl/testing/reference.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl;
using shakedown::Blas;
using shakedown::Checks;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

void solved(Checks& checks, const Blas& blas, const Kernels& loops, Solve solve, Index order, Index columns) {
  testing::Dice dice(static_cast<std::uint32_t>(order * 1000 + columns));
  const Index ldg = columns + 3, ldu = columns + 5;
  auto l1 = testing::random_values(order * order, dice);  // the diagonal and above hold U, which is not to be read
  for (Index j = 0; j < order; ++j) {
    for (Index i = j + 1; i < order; ++i) l1[at(i + j * order)] /= 8;
  }
  auto g = testing::random_values(order * ldg, dice);
  const auto before = g;
  std::vector<double> u(at(order * ldu), 7);
  const auto inverse = invert(loops, solve, l1.data(), order);
  solve_rows(blas, solve, l1.data(), inverse, order, columns, g.data(), ldg, u.data(), ldu);
  double worst = 0, largest = 1;
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < order; ++i) {
      double sum = u[at(i * ldu + j)];
      for (Index k = 0; k < i; ++k) sum += l1[at(i + k * order)] * u[at(k * ldu + j)];
      worst = std::max(worst, std::fabs(sum - before[at(i * ldg + j)]));
      largest = std::max(largest, std::fabs(u[at(i * ldu + j)]));
    }
  }
  bool outside = true;
  for (Index i = 0; i < order; ++i) {
    for (Index j = columns; j < ldu; ++j) outside = outside && u[at(i * ldu + j)] == 7;
  }
  const std::string what =
      std::string(name_of(solve)) + ", order " + std::to_string(order) + ", " + std::to_string(columns) + " columns";
  // The whole inverse loses as much as its entries grow.
  double growth = 1;
  for (const double value : inverse) growth = std::max(growth, std::fabs(value));
  const auto n = static_cast<double>(order);
  checks.that(worst <= 4 * 0x1p-52 * n * n * growth * largest, what + ": off by " + std::to_string(worst));
  checks.that(outside, what + ": nothing is written beside U");
  checks.equal(inverse.empty(), solve == Solve::blas, what + ": what is kept for it");
}

}  // namespace

int main() {
  Checks checks;
  const Blas blas = Blas::load(PLAIN_BLAS, 1);
  for (const auto solve : {Solve::recursive, Solve::inverse, Solve::blas}) {
    for (const Index order : {1, 2, 7, 63, 64, 65, 127, 128, 150}) {
      for (const Index columns : {1, 5, 64}) solved(checks, blas, kernels(), solve, order, columns);
    }
  }
  return checks.end();
}
