// The check of a product: whole rows against sums of higher precision, and all rows at once by a random vector.
#pragma once

#include <cfloat>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "gemm.hpp"

namespace shakedown::gemm {

/// The limit of the residual, in units of eps n max|A| max|B|. A sum of n products of random signs comes out near 0.1
/// in any order of summation; the worst that rounding may do is n / 2. A wrong entry, or arithmetic of fewer bits, is
/// far above.
inline constexpr double kLimit = 16;

/// For n up to this every entry is compared with its reference.
inline constexpr std::int64_t kAllRows = 256;

/// A sum of products in x87's 64-bit mantissa (2048 times finer than double).
struct ExtendedSum {
  long double sum = 0;
  void add(double a, double b) { sum += static_cast<long double>(a) * b; }
  void add(double a, const ExtendedSum& b) { sum += a * b.sum; }
  [[nodiscard]] long double value() const { return sum; }
};

/// The same as an unevaluated sum of two doubles, where long double is slow or no wider: each product's rounding error
/// by a fused multiply-add, each addition's by Knuth's two-sum (Ogita, Rump, Oishi 2005, algorithm 5.3).
struct PairSum {
  double high = 0, low = 0;
  void add(double a, double b) {
    const double product = a * b;
    const double sum = high + product;
    const double back = sum - high;
    low += std::fma(a, b, -product) + ((high - (sum - back)) + (product - back));
    high = sum;
  }
  void add(double a, const PairSum& b) {
    add(a, b.high);
    add(a, b.low);
  }
  [[nodiscard]] long double value() const { return static_cast<long double>(high) + low; }
};

/// For single precision double is wide enough: each product is exact.
struct DoubleSum {
  double sum = 0;
  void add(float a, float b) { sum += static_cast<double>(a) * static_cast<double>(b); }
  void add(float a, const DoubleSum& b) { sum += static_cast<double>(a) * b.sum; }
  [[nodiscard]] long double value() const { return sum; }
};

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, DoubleSum,
                                std::conditional_t<LDBL_MANT_DIG == 64, ExtendedSum, PairSum>>;

/// The larger of the two, where NaN is larger than anything.
inline double worse(double worst, double value) { return std::isnan(worst) || value <= worst ? worst : value; }

/// max |C - alpha A B - beta C0| over `rows`, over eps n max|A| max|B| (|alpha| + 2 |beta| / n): NaN where any is NaN.
/// max|A| and max|B| are taken as 0.5, the bound of the data. `team` divides the columns.
template <class T>
double row_residual(Team& team, const Problem& problem, const std::vector<std::int64_t>& rows, const T* a, const T* b,
                    const T* c) {
  const auto n = problem.n;
  std::vector<double> worst(static_cast<std::size_t>(team.size()), 0.0);
  team.run([&](int thread) {
    const auto [first, last] = part(n, thread, team.size());
    std::vector<T> row(static_cast<std::size_t>(n));
    double mine = 0;
    for (const auto i : rows) {
      for (std::int64_t k = 0; k < n; ++k) row[static_cast<std::size_t>(k)] = a[i + k * n];
      for (auto j = first; j < last; ++j) {
        Wide<T> even, odd;  // two chains of additions: half the wait
        for (std::int64_t k = 0; k + 1 < n; k += 2) {
          even.add(row[static_cast<std::size_t>(k)], b[k + j * n]);
          odd.add(row[static_cast<std::size_t>(k + 1)], b[k + 1 + j * n]);
        }
        if (n % 2 != 0) even.add(row[static_cast<std::size_t>(n - 1)], b[n - 1 + j * n]);
        const long double right = problem.alpha * (even.value() + odd.value()) +
                                  problem.beta * static_cast<long double>(entry<T>(Matrix::c, i, j));
        mine = worse(mine, static_cast<double>(std::fabs(static_cast<long double>(c[i + j * n]) - right)));
      }
    }
    worst[static_cast<std::size_t>(thread)] = mine;
  });
  double all = 0;
  for (const double one : worst) all = worse(all, one);
  return all;
}

/// Freivalds' check: the largest entry of |C x - alpha A (B x) - beta C0 x| for a vector x of random signs. One wrong
/// entry shows in full; errors of a whole row add up as their root of sum of squares. `seed` chooses x.
template <class T>
double vector_residual(Team& team, const Problem& problem, std::uint64_t seed, const T* a, const T* b, const T* c) {
  const auto n = problem.n;
  const auto sign = [&](std::int64_t j) {
    return entry<T>(Matrix::c, j, static_cast<std::int64_t>(seed & 0xffffff)) < T{0} ? T{-1} : T{1};
  };
  std::vector<Wide<T>> bx(static_cast<std::size_t>(n)), abx(bx.size()), cx(bx.size()), c0x(bx.size());
  std::vector<double> worst(static_cast<std::size_t>(team.size()), 0.0);
  team.run([&](int thread) {
    const auto [first, last] = part(n, thread, team.size());  // rows; columns run outside: memory is read in order
    for (std::int64_t j = 0; j < n; ++j) {
      const T x = sign(j);
      for (auto i = first; i < last; ++i) {
        const auto at = static_cast<std::size_t>(i);
        bx[at].add(b[i + j * n], x);
        cx[at].add(c[i + j * n], x);
        if (problem.beta != 0) c0x[at].add(entry<T>(Matrix::c, i, j), x);
      }
    }
    team.barrier();
    for (std::int64_t j = 0; j < n; ++j) {
      const auto& factor = bx[static_cast<std::size_t>(j)];
      for (auto i = first; i < last; ++i) abx[static_cast<std::size_t>(i)].add(a[i + j * n], factor);
    }
    double mine = 0;
    for (auto i = first; i < last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const long double right = problem.alpha * abx[at].value() + problem.beta * c0x[at].value();
      mine = worse(mine, static_cast<double>(std::fabs(cx[at].value() - right)));
    }
    worst[static_cast<std::size_t>(thread)] = mine;
  });
  double all = 0;
  for (const double one : worst) all = worse(all, one);
  return all;
}

/// Every row of a small matrix; of a large one the first, the last and others, as many as cost about 2^26 products.
inline std::vector<std::int64_t> rows_to_check(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> rows;
  if (n <= kAllRows) {
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(i);
    return rows;
  }
  rows = {0, n - 1};
  const auto more = std::max<std::int64_t>((std::int64_t{1} << 26) / (n * n), 2) - 2;
  for (std::int64_t k = 0; k < std::min(more, n); ++k) {
    const double at = entry<double>(Matrix::c, k, static_cast<std::int64_t>(seed & 0xffffff)) + 0.5;
    rows.push_back(std::min(static_cast<std::int64_t>(at * static_cast<double>(n)), n - 1));
  }
  return rows;
}

/// The residual of a product, to be at most kLimit: the worse of the two checks, each in units of its own rounding.
template <class T>
double residual(Team& team, const Problem& problem, std::uint64_t seed, const T* a, const T* b, const T* c) {
  const auto n = static_cast<double>(problem.n);
  const double eps = std::numeric_limits<T>::epsilon();
  const double unit = eps * (std::fabs(problem.alpha) * n * 0.25 + std::fabs(problem.beta) * 0.5);
  const double rows = row_residual(team, problem, rows_to_check(problem.n, seed), a, b, c) / unit;
  const double vector = vector_residual(team, problem, seed, a, b, c) / (unit * std::sqrt(n));
  return worse(worse(0, rows), vector);
}

}  // namespace shakedown::gemm
