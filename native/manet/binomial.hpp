// The binomial distribution, exactly: whether a count is one that its probability makes likely.
#pragma once

#include <cmath>
#include <cstdint>

namespace shakedown::manet {

/// The probability of exactly `count` of `all`, each with probability `p`.
inline double binomial(std::int64_t all, std::int64_t count, double p) {
  if (count < 0 || count > all) return 0;
  if (p <= 0) return count == 0 ? 1 : 0;
  if (p >= 1) return count == all ? 1 : 0;
  const auto n = static_cast<double>(all), k = static_cast<double>(count);
  const double ways = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  return std::exp(ways + k * std::log(p) + (n - k) * std::log1p(-p));
}

/// The smaller of P(X <= count) and P(X >= count).
inline double tail(std::int64_t all, std::int64_t count, double p) {
  const bool low = static_cast<double>(count) < p * static_cast<double>(all);
  double sum = 0;
  for (std::int64_t k = count; low ? k >= 0 : k <= all; k += low ? -1 : 1) {
    const double term = binomial(all, k, p);
    sum += term;
    if (term < 1e-18 * sum) break;  // terms fall from here on
  }
  return sum;
}

/// The least count that is exceeded with at most probability `rare`.
inline std::int64_t most_likely(std::int64_t all, double p, double rare) {
  double above = 1;
  for (std::int64_t k = 0; k <= all; ++k) {
    above -= binomial(all, k, p);
    if (above <= rare) return k;
  }
  return all;
}

}  // namespace shakedown::manet
