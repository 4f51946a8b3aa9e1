#include "verify.hpp"

#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::hpl_probe;

namespace {

using Matrix = std::vector<double>;  // column-major

Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return random_vector(rows * columns, seed);
}

/// Factor A in place with row interchanges; the order of the rows.
std::vector<std::size_t> factor(Matrix& a, std::size_t rows, std::size_t columns) {
  std::vector<std::size_t> order(rows);
  for (std::size_t i = 0; i < rows; ++i) order[i] = i;
  for (std::size_t j = 0; j < columns; ++j) {
    std::size_t pivot = j;
    for (std::size_t i = j; i < rows; ++i) {
      if (std::fabs(a[i + j * rows]) > std::fabs(a[pivot + j * rows])) pivot = i;
    }
    for (std::size_t c = 0; c < columns; ++c) std::swap(a[j + c * rows], a[pivot + c * rows]);
    std::swap(order[j], order[pivot]);
    for (std::size_t i = j + 1; i < rows; ++i) {
      a[i + j * rows] /= a[j + j * rows];
      for (std::size_t c = j + 1; c < columns; ++c) a[i + c * rows] -= a[i + j * rows] * a[j + c * rows];
    }
  }
  return order;
}

void check_products(Checks& checks) {
  constexpr std::int64_t kColumns = 50, kDepth = 20;
  const auto u = random_matrix(kColumns, kDepth, 1);  // rows of U one after another
  const auto l = random_vector(kDepth, 2), c0 = random_vector(kColumns, 3), x = random_vector(kColumns, 4);
  auto c = c0;
  for (int time = 0; time < 3; ++time) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      for (std::size_t d = 0; d < kDepth; ++d) c[j] -= l[d] * u[j + d * kColumns];
    }
  }
  std::vector<Sum> ux;
  for (std::int64_t d = 0; d < kDepth; ++d) ux.push_back(product(u.data() + d * kColumns, 1, kColumns, x));
  const auto error = [&](const std::vector<double>& row, double times) {
    return product_error(row.data(), c0.data(), kColumns, x, l.data(), 1, ux, times);
  };
  checks.that(error(c, 3) <= 1, "a right product is within the bound");
  checks.that(error(c, 2) > 1e6, "one product too many");
  auto wrong = c;
  wrong[17] += 1e-9;
  checks.that(error(wrong, 3) > 1, "one entry that is off by 1e-9");
  wrong[17] = NAN;
  checks.that(error(wrong, 3) > 1e300, "NaN is no result");
}

void check_panels(Checks& checks) {
  constexpr std::size_t kRows = 40, kColumns = 12;
  const auto a = random_matrix(kRows, kColumns, 5);
  auto lu = a;
  const auto order = factor(lu, kRows, kColumns);
  const auto x = random_vector(kColumns, 6);
  const auto error = [&](const Matrix& found, const std::vector<std::size_t>& rows) {
    Matrix l1(kColumns * kColumns);
    for (std::size_t i = 0; i < kColumns; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) l1[i + j * kColumns] = found[i + j * kRows];
    }
    std::vector<Sum> ux(kColumns);
    for (std::size_t i = 0; i < kColumns; ++i) {
      for (std::size_t j = i; j < kColumns; ++j) ux[i].add(l1[i + j * kColumns], x[j]);
    }
    return panel_error(l1.data(), found.data(), kRows, kColumns, 0, kRows, ux, [&](std::int64_t i) {
      return product(a.data() + rows[static_cast<std::size_t>(i)], kRows, kColumns, x);
    });
  };
  checks.that(error(lu, order) <= 1, "a right factorization is within the bound");
  auto wrong = lu;
  wrong[30 + 5 * kRows] *= 1 + 1e-9;
  checks.that(error(wrong, order) > 1, "an entry of L");
  wrong = lu;
  wrong[2 + 7 * kRows] += 1e-9;
  checks.that(error(wrong, order) > 1, "an entry of U");
  wrong = lu;
  wrong[30 + 5 * kRows] = 2;
  checks.that(error(wrong, order) > 1e300, "a multiplier above 1");
  auto swapped = order;
  std::swap(swapped[20], swapped[21]);
  checks.that(error(lu, swapped) > 1, "rows exchanged");
}

void check_solves(Checks& checks) {
  constexpr std::size_t kOrder = 12, kColumns = 30;
  auto panel = random_matrix(40, kOrder, 7);
  factor(panel, 40, kOrder);
  Matrix l(kOrder * kOrder);
  for (std::size_t i = 0; i < kOrder; ++i) {
    for (std::size_t j = 0; j < i; ++j) l[i + j * kOrder] = panel[i + j * 40];
  }
  const auto g = random_matrix(kColumns, kOrder, 8);  // rows one after another
  auto u = g;
  for (std::size_t i = 0; i < kOrder; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      for (std::size_t j = 0; j < kColumns; ++j) u[j + i * kColumns] -= l[i + k * kOrder] * u[j + k * kColumns];
    }
  }
  const auto x = random_vector(kColumns, 9);
  const auto error = [&](const Matrix& found) {
    std::vector<Sum> gx, ux;
    for (std::size_t i = 0; i < kOrder; ++i) {
      gx.push_back(product(g.data() + i * kColumns, 1, kColumns, x));
      ux.push_back(product(found.data() + i * kColumns, 1, kColumns, x));
    }
    return solve_error(l.data(), kOrder, gx, ux, kColumns + 8 * kOrder);
  };
  checks.that(error(u) <= 1, "a right solution is within the bound");
  checks.that(error(g) > 1e6, "not solved at all");
  auto wrong = u;
  wrong[3 + 4 * kColumns] += 1e-9;
  checks.that(error(wrong) > 1, "one entry that is off by 1e-9");
}

void check_errors(Checks& checks) {
  checks.that(error_of(NAN, 0, 1, 1) > 1, "NaN");
  checks.that(error_of(INFINITY, INFINITY, 1, 1) > 1, "infinite");
  checks.equal(error_of(0, 0, 0, 1), 0.0, "nothing of nothing");
  checks.that(error_of(1, 0, 0, 1) > 1, "something of nothing");
  checks.that(worse(NAN, 0) > 1 && worse(0, NAN) > 1, "NaN is the worst");
}

}  // namespace

int main() {
  Checks checks;
  check_products(checks);
  check_panels(checks);
  check_solves(checks);
  check_errors(checks);
  return checks.end();
}
