// The exact binomial distribution against sums by hand and known quantiles.
#include "binomial.hpp"

#include "testing/check.hpp"

int main() {
  using namespace shakedown::manet;
  shakedown::Checks checks;
  checks.that(std::fabs(binomial(10, 3, 0.5) - 120.0 / 1024) < 1e-14, "3 of 10 coins");
  checks.that(std::fabs(tail(10, 3, 0.5) - 176.0 / 1024) < 1e-13, "at most 3 of 10 coins");
  checks.that(std::fabs(tail(10, 8, 0.5) - 56.0 / 1024) < 1e-13, "at least 8 of 10 coins");
  checks.that(std::fabs(tail(5, 0, 0.3) - std::pow(0.7, 5)) < 1e-14, "none of 5");
  checks.that(std::fabs(tail(5, 5, 0.3) - std::pow(0.3, 5)) < 1e-14, "all of 5");
  checks.equal(binomial(5, 6, 0.3) + binomial(5, -1, 0.3) + binomial(5, 1, 0) + binomial(5, 4, 1), 0.0,
               "what cannot be");
  checks.equal(binomial(5, 0, 0) + binomial(5, 5, 1), 2.0, "what must be");
  double sum = 0;
  for (int k = 0; k <= 1000; ++k) sum += binomial(1000, k, 0.37);
  checks.that(std::fabs(sum - 1) < 1e-10, "all of it");
  // Quantiles of the binomial distribution of 1,000 and 0.01, as any table has them: 18 at 99 %.
  checks.equal(most_likely(1000, 0.01, 0.01), 18L, "the 99 % quantile");
  checks.that(tail(1000, 19, 0.01) <= 0.01 && tail(1000, 18, 0.01) > 0.01, "and what lies above it");
  return checks.end();
}
