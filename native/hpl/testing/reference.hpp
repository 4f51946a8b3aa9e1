// What the tests of hpl compare with: netlib's matrix and LU with partial pivoting, each written from its definition.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "hpl/layout.hpp"

namespace shakedown::hpl::testing {

/// Netlib HPL 2.3's generator (testing/matgen: HPL_lmul, HPL_ladd, HPL_rand; hpl_matgen.h): X' = a X + c modulo 2^64 in
/// digits of 16 bits, multiplied as on paper, so that nothing is shared with the generator under test.
class NetlibRandom {
 public:
  /// The value of the current state, then one step.
  double next() {
    // The lower half over 2^32, then the digits of the upper half are added from the left; the sum over 2^32.
    const double lower = (x_[0] + x_[1] * 65536.0) / 2147483648.0 * 0.5;
    const double value = 0.5 - (lower + x_[2] + x_[3] * 65536.0) / 2147483648.0 * 0.5;
    step();
    return value;
  }

 private:
  using Digits = std::array<std::uint32_t, 4>;

  void step() {
    Digits product{};
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; i + j < 4; ++j) {
        const std::uint64_t sum = product[i + j] + std::uint64_t{x_[i]} * kA[j] + carry;
        product[i + j] = static_cast<std::uint32_t>(sum % 65536);
        carry = sum / 65536;
      }
    }
    std::uint32_t carry = 1;  // c
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t sum = product[i] + carry;
      x_[i] = sum % 65536;
      carry = sum / 65536;
    }
  }

  // HPL_MULT0 = 1284865837 is the lower half, HPL_MULT1 = 1481765933 the upper one.
  static constexpr Digits kA = {1284865837 % 65536, 1284865837 / 65536, 1481765933 % 65536, 1481765933 / 65536};
  Digits x_ = {100, 0, 0, 0};  // HPL_ISEED
};

/// [A b] of order n, column by column: n x (n + 1).
inline std::vector<double> netlib_matrix(Index n) {
  NetlibRandom random;
  std::vector<double> matrix(static_cast<std::size_t>(n * (n + 1)));
  for (double& entry : matrix) entry = random.next();
  return matrix;
}

struct Solution {
  std::vector<Index> pivots;  // row i was exchanged with pivots[i]
  std::vector<double> x;
};

/// Solve [A b], as LAPACK's dgetf2 does it: column by column, the first of the largest magnitudes is the pivot.
/// Destroys `a`. The sums are kept in long double, so that ties and near ties are decided by the matrix, not by
/// rounding.
inline Solution solve_reference(Index n, const std::vector<double>& matrix) {
  std::vector<long double> a(matrix.begin(), matrix.end());
  const auto at = [&](Index i, Index j) -> long double& { return a[static_cast<std::size_t>(i + j * n)]; };
  Solution solution;
  for (Index k = 0; k < n; ++k) {
    Index pivot = k;
    for (Index i = k + 1; i < n; ++i) {
      if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
    }
    solution.pivots.push_back(pivot);
    for (Index j = 0; j <= n; ++j) std::swap(at(k, j), at(pivot, j));
    for (Index i = k + 1; i < n; ++i) at(i, k) /= at(k, k);
    for (Index j = k + 1; j <= n; ++j) {
      for (Index i = k + 1; i < n; ++i) at(i, j) -= at(i, k) * at(k, j);
    }
  }
  solution.x.resize(static_cast<std::size_t>(n));
  for (Index i = n - 1; i >= 0; --i) {
    long double sum = at(i, n);
    for (Index j = i + 1; j < n; ++j)
      sum -= at(i, j) * static_cast<long double>(solution.x[static_cast<std::size_t>(j)]);
    solution.x[static_cast<std::size_t>(i)] = static_cast<double>(sum / at(i, i));
  }
  return solution;
}

/// Numbers that are the same everywhere: those of the standard's distributions are not.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  Index below(Index end) { return static_cast<Index>(random_() % static_cast<std::uint64_t>(end)); }
  Index between(Index low, Index high) { return low + below(high - low + 1); }
  /// In (-1, 1), never 0.
  double real() { return (static_cast<double>(random_()) + 0.5) / 2147483648.0 - 1; }

 private:
  std::mt19937 random_;
};

inline std::vector<double> random_values(Index count, Dice& dice) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = dice.real();
  return values;
}

}  // namespace shakedown::hpl::testing
