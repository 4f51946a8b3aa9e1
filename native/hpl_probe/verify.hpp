// The checks of what was computed, as errors over what rounding can explain: 1 or less is right, anything above is not.
// Products with a random vector see every entry (Freivalds 1977); bounds: Higham, Accuracy and Stability of Numerical
// Algorithms, chapters 3 and 9. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace shakedown::hpl_probe {

inline constexpr double kRoundoff = 0x1p-53;

/// A sum, and that of its terms' magnitudes, by which rounding is judged.
struct Sum {
  double value = 0, size = 0;
  void add(double a, double b) {
    value += a * b;
    size += std::fabs(a * b);
  }
  /// A term that is itself a sum.
  void add(double a, const Sum& b) {
    value += a * b.value;
    size += std::fabs(a) * b.size;
  }
};

/// a . x for entries `step` apart.
inline Sum product(const double* a, std::int64_t step, std::int64_t length, const std::vector<double>& x) {
  Sum sum;
  for (std::int64_t i = 0; i < length; ++i) sum.add(a[i * step], x[static_cast<std::size_t>(i)]);
  return sum;
}

/// a . x for a vector of sums.
inline Sum product(const double* a, std::int64_t step, std::int64_t length, const std::vector<Sum>& x) {
  Sum sum;
  for (std::int64_t i = 0; i < length; ++i) sum.add(a[i * step], x[static_cast<std::size_t>(i)]);
  return sum;
}

/// |found - expected| over `operations` roundings of terms of that size; infinite for NaN.
inline double error_of(double found, double expected, double size, double operations) {
  const double error = std::fabs(found - expected);
  const double bound = kRoundoff * operations * size;
  if (std::isnan(error) || std::isinf(error)) return std::numeric_limits<double>::infinity();
  if (error == 0) return 0;
  return bound > 0 ? error / bound : std::numeric_limits<double>::infinity();
}

/// The larger of two errors; infinite where one is NaN.
inline double worse(double one, double other) {
  if (std::isnan(one) || std::isnan(other)) return std::numeric_limits<double>::infinity();
  return one > other ? one : other;
}

/// Numbers in [-1, 1) that have nothing to do with the matrix.
inline std::vector<double> random_vector(std::int64_t length, std::uint64_t seed) {
  std::vector<double> x(static_cast<std::size_t>(length));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (auto& value : x) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63;
  }
  return x;
}

/// A row of C after `times` products C -= L U: c x against c0 x - times l (U x), where `ux` is U x.
inline double product_error(const double* c, const double* c0, std::int64_t columns, const std::vector<double>& x,
                            const double* l, std::int64_t ldl, const std::vector<Sum>& ux, double times) {
  const auto depth = static_cast<std::int64_t>(ux.size());
  const Sum found = product(c, 1, columns, x), before = product(c0, 1, columns, x), taken = product(l, ldl, depth, ux);
  return error_of(found.value, before.value - times * taken.value, before.size + times * taken.size,
                  static_cast<double>(columns + depth) + times);
}

/// Rows of U in L U = G, L unit lower triangular of order `order` and column-major: L (U x) against G x, the worst row.
/// The solution by inverses of blocks of L has an error that grows with them: they are those of a pivoted panel, whose
/// inverses are small, and `operations` allows for it.
inline double solve_error(const double* l, std::int64_t order, const std::vector<Sum>& gx, const std::vector<Sum>& ux,
                          double operations) {
  double worst = 0;
  for (std::int64_t i = 0; i < order; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Sum sum = product(l + i, order, i, ux);
    sum.add(1, ux[at]);
    worst = worse(worst, error_of(sum.value, gx[at].value, gx[at].size + sum.size, operations));
  }
  return worst;
}

/// Rows [begin, end) of P A = L U, a panel of `columns` columns. `l1` holds L above and U, column-major with `columns`
/// rows; further rows of L lie in `below`, `ld` apart, row i being `below[i]`. `ux` is U x and `expected(i)` the i-th
/// row of P A times x. Infinite where an entry of L is above 1: then the pivot was not the largest.
template <class Expected>
double panel_error(const double* l1, const double* below, std::int64_t ld, std::int64_t columns, std::int64_t begin,
                   std::int64_t end, const std::vector<Sum>& ux, Expected&& expected) {
  constexpr double kOne = 1 + 1e-12;  // multiplied by the pivot's reciprocal, 1 may come out a little larger
  double worst = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const bool top = i < columns;
    const double* l = top ? l1 + i : below + i;
    const std::int64_t step = top ? columns : ld, length = top ? i : columns;
    for (std::int64_t j = 0; j < length; ++j) {
      if (!(std::fabs(l[j * step]) <= kOne)) return std::numeric_limits<double>::infinity();
    }
    Sum sum = product(l, step, length, ux);
    if (top) sum.add(1, ux[static_cast<std::size_t>(i)]);
    const Sum right = expected(i);
    worst = worse(worst, error_of(sum.value, right.value, sum.size + right.size, 4.0 * static_cast<double>(columns)));
  }
  return worst;
}

}  // namespace shakedown::hpl_probe
