// The check finds what is wrong with a product and passes what is only rounded.
#include <cmath>
#include <limits>
#include <vector>

#include "testing/check.hpp"
#include "testing/sanitized.hpp"
#include "verify.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::gemm;

template <class T>
struct Product {
  Problem problem;
  std::vector<T> a, b, c;
};

/// A product computed entry by entry in T, as a library may do it.
template <class T>
Product<T> make(std::int64_t n, double alpha, double beta) {
  Product<T> p;
  p.problem = {n, alpha, beta};
  const auto count = static_cast<std::size_t>(n * n);
  p.a.resize(count);
  p.b.resize(count);
  p.c.resize(count);
  Team team({allowed_cpus().front()});
  fill(team, Matrix::a, n, p.a.data());
  fill(team, Matrix::b, n, p.b.data());
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      T sum = 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += p.a[static_cast<std::size_t>(i + k * n)] * p.b[static_cast<std::size_t>(k + j * n)];
      p.c[static_cast<std::size_t>(i + j * n)] =
          static_cast<T>(alpha) * sum + static_cast<T>(beta) * entry<T>(Matrix::c, i, j);
    }
  }
  return p;
}

template <class T>
double judge(const Product<T>& p, std::uint64_t seed = 1) {
  Team team({allowed_cpus().front()});
  return residual(team, p.problem, seed, p.a.data(), p.b.data(), p.c.data());
}

template <class T>
void right_products_pass(Checks& checks) {
  for (const std::int64_t n : {1, 2, 3, 7, 64, 255, 257, 300}) {
    for (const auto& [alpha, beta] : std::vector<std::pair<double, double>>{{1, 0}, {-1, 1}, {0.75, -0.5}}) {
      const double found = judge(make<T>(n, alpha, beta));
      checks.that(found <= 2,
                  "rounding stays far below the limit, n " + std::to_string(n) + ": " + std::to_string(found));
      if (n > 2) checks.that(found > 0, "and is seen, n " + std::to_string(n));
    }
  }
}

/// One wrong entry anywhere is found, in sizes where all rows are compared and in those where only some are.
template <class T>
void wrong_entries_fail(Checks& checks, T error) {
  for (const std::int64_t n : {5, 200, 300}) {
    auto p = make<T>(n, 1, 0);
    for (std::int64_t trial = 0; trial < (kSanitized ? 3 : 12); ++trial) {
      const auto row = trial * 7919 % n;
      const auto column = trial * 104729 % n;
      T& spoilt = p.c[static_cast<std::size_t>(row + column * n)];
      const T kept = spoilt;
      for (const T wrong :
           {kept + error, kept - error, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
        spoilt = wrong;
        const double found = judge(p, static_cast<std::uint64_t>(trial));
        checks.that(!(found <= kLimit), "n " + std::to_string(n) + ", entry " + std::to_string(row) + ',' +
                                            std::to_string(column) + ": " + std::to_string(found));
      }
      spoilt = kept;
    }
  }
}

void wrong_scalars_fail(Checks& checks) {
  auto p = make<double>(40, 1, 0);
  p.problem.alpha = 1 + 1e-9;
  checks.that(judge(p) > kLimit, "a product with another alpha is wrong");
  p = make<double>(40, 1, 0.5);
  p.problem.beta = 0.5 + 1e-9;
  checks.that(judge(p) > kLimit, "a product with another beta is wrong");
}

/// Both ways to sum finely agree, and where plain double fails they do not.
void fine_sums_agree(Checks& checks) {
  PairSum pair;
  ExtendedSum extended;
  double plain = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const double a = entry<double>(Matrix::a, i, 0), b = entry<double>(Matrix::b, i, 0);
    pair.add(a, b);
    extended.add(a, b);
    plain += a * b;
  }
  const auto apart = static_cast<double>(std::fabs(pair.value() - extended.value()));
  checks.that(apart <= 5000 * 0.25 * 0x1p-63, "two fine sums differ by no more than the coarser one may");
  checks.that(std::fabs(plain - static_cast<double>(pair.value())) > 0, "plain summation is coarser");
  PairSum cancel;
  cancel.add(1e16, 1);
  cancel.add(1, 1);
  cancel.add(-1e16, 1);
  checks.equal(static_cast<double>(cancel.value()), 1.0, "1e16 + 1 - 1e16 as a pair");
  PairSum exact;  // (1 + 2^-30)^2 = 1 + 2^-29 + 2^-60
  exact.add(1 + 0x1p-30, 1 + 0x1p-30);
  exact.add(-1, 1 + 0x1p-29);
  checks.equal(static_cast<double>(exact.value()), 0x1p-60, "the rounding error of a product is kept");
}

template <class T>
void data_is_uniform(Checks& checks) {
  double sum = 0, squares = 0, low = 1, high = -1;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = entry<T>(Matrix::a, i % 317, i / 317);
    sum += value;
    squares += value * value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  checks.that(low >= -0.5 && high < 0.5, "entries lie in [-0.5, 0.5)");
  checks.that(low < -0.4999 && high > 0.4999, "and reach its ends");
  checks.that(std::fabs(sum / kCount) < 5 * std::sqrt(1 / 12.0 / kCount), "their mean is 0 within five deviations");
  checks.that(std::fabs(squares / kCount - 1 / 12.0) < 0.002, "their variance is 1/12");
  checks.that(entry<T>(Matrix::a, 3, 4) != entry<T>(Matrix::b, 3, 4), "the matrices differ");
  checks.that(entry<T>(Matrix::a, 3, 4) != entry<T>(Matrix::a, 4, 3), "and are not symmetric");
}

void rows_are_sane(Checks& checks) {
  for (const std::int64_t n : {1, 2, 256, 257, 1024, 8192, 100000}) {
    const auto rows = rows_to_check(n, 3);
    checks.that(!rows.empty(), "some row is checked");
    for (const auto row : rows) checks.that(row >= 0 && row < n, "a row of the matrix");
    if (n <= kAllRows) checks.equal(static_cast<std::int64_t>(rows.size()), n, "all rows of a small one");
  }
}

void parts_cover(Checks& checks) {
  for (const std::int64_t count : {0, 1, 7, 1000}) {
    for (const int threads : {1, 3, 8}) {
      std::int64_t next = 0;
      for (int t = 0; t < threads; ++t) {
        const auto [first, last] = part(count, t, threads);
        checks.equal(first, next, "each part begins where the one before ends");
        next = last;
      }
      checks.equal(next, count, "and the last ends at the end");
    }
  }
}

}  // namespace

int main() {
  Checks checks;
  right_products_pass<double>(checks);
  right_products_pass<float>(checks);
  wrong_entries_fail<double>(checks, 1e-9);
  wrong_entries_fail<float>(checks, 0.1F);
  wrong_scalars_fail(checks);
  fine_sums_agree(checks);
  data_is_uniform<double>(checks);
  data_is_uniform<float>(checks);
  rows_are_sane(checks);
  parts_cover(checks);
  checks.equal(Problem{4096}.flop(), 137438953472.0, "2 n^3");
  return checks.end();
}
