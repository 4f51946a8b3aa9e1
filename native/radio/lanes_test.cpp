// What must be true of the lanes: their functions against the C library's, whole numbers, ranks.
#include "lanes.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "order.hpp"
#include "testing/check.hpp"

namespace shakedown::radio {
namespace {

constexpr int kWidth = 2;
using L = Lanes<double, kWidth>;

template <class Function, class Exact>
double worst_relative(double low, double high, const Function& ours, const Exact& exact) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> draw(0, 1);
  double worst = 0;
  for (int i = 0; i < 20'000; ++i) {
    L x;
    for (int lane = 0; lane < kWidth; ++lane) x.set(lane, low + (high - low) * draw(random));
    const L y = ours(x);
    for (int lane = 0; lane < kWidth; ++lane) {
      const double right = exact(x[lane]);
      worst = std::fmax(worst, std::fabs(y[lane] - right) / std::fmax(std::fabs(right), 1e-3));
    }
  }
  return worst;
}

void test_functions(Checks& checks) {
  constexpr double kFour = 4 * 0x1p-52;
  const auto near = [&](const char* name, double found, double limit) {
    checks.that(found <= limit, std::string(name) + ": off by " + std::to_string(found / 0x1p-52) + " x 2^-52");
  };
  const auto exp_of = [](L x) { return exp(x); };
  const auto log_of = [](L x) { return log(x); };
  near("exp near 0", worst_relative(-1, 1, exp_of, [](double x) { return std::exp(x); }), kFour);
  near("exp", worst_relative(-700, 700, exp_of, [](double x) { return std::exp(x); }), kFour);
  near("log near 1", worst_relative(0.5, 2, log_of, [](double x) { return std::log(x); }), 100 * kFour);  // above 1e-3
  near("log", worst_relative(2, 1e300, log_of, [](double x) { return std::log(x); }), kFour);
  near("log of small", worst_relative(1e-300, 0.5, log_of, [](double x) { return std::log(x); }), kFour);
  near("sqrt",
       worst_relative(
           0, 1e10, [](L x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }),
       0);
  near("cbrt",
       worst_relative(
           1e-3, 1e20, [](L x) { return cbrt(x); }, [](double x) { return std::cbrt(x); }),
       16 * kFour);
  const auto cosine = [](L x) {
    L c, s;
    cos_sin(x, c, s);
    return c;
  };
  const auto sine = [](L x) {
    L c, s;
    cos_sin(x, c, s);
    return s;
  };
  const double pi = std::acos(-1.0);
  near("cos", worst_relative(0, pi, cosine, [](double x) { return std::cos(x); }),
       200 * kFour);  // of values below 1e-3
  near("sin", worst_relative(0, pi, sine, [](double x) { return std::sin(x); }), 400 * kFour);
}

void test_edges(Checks& checks) {
  checks.equal(exp(L(0))[0], 1.0, "exp of 0");
  checks.equal(exp(L(-800))[0], 0.0, "exp far below");
  checks.that(std::isfinite(exp(L(1e9))[0]), "exp far above is finite");
  checks.equal(log(L(1))[0], 0.0, "log of 1");
  checks.that(std::isnan(log(L(-1))[0]), "log of what is below 0 is no number");
  checks.that(std::isnan(log(L(std::nan("")))[0]), "log of what is no number is none");
  for (const double x : {-2.5, -2.0, -0.5, 0.0, 0.5, 2.0, 2.5, 1e9 + 0.5, -1e9 - 0.5}) {
    checks.equal(floor(L(x))[0], std::floor(x), "floor of " + std::to_string(x));
  }
  for (const double x : {0.0, 1.0, 123456.0, -3.0, 2147483648.0}) {
    checks.equal(whole(L(x))[0], static_cast<std::int64_t>(x), "whole of " + std::to_string(x));
  }
  checks.equal(larger(L(std::nan("")), L(3))[0], 3.0, "what is larger than no number");
  checks.that((L(1) > L(0)).any() && !(L(1) < L(0)).any(), "any");
}

/// Each lane has its own count and rank; rows behind the count do not matter.
void test_spread(Checks& checks) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> draw(-100, 100);
  for (int round = 0; round < 300; ++round) {
    constexpr int kRows = 245;
    double values[kRows * kWidth];
    for (double& value : values) value = round % 3 == 0 ? std::round(draw(random) / 20) : draw(random);
    L counts;
    int ranks[kWidth], most = 0;
    for (int lane = 0; lane < kWidth; ++lane) {
      const int rank = 1 + static_cast<int>(random() % 32), count = rank + static_cast<int>(random() % (kRows - 32));
      ranks[lane] = rank;
      counts.set(lane, count);
      most = std::max(most, count);
    }
    const L found = spread(values, most, counts, ranks);
    for (int lane = 0; lane < kWidth; ++lane) {
      std::vector<double> column;
      column.reserve(kRows);
      for (int row = 0; row < static_cast<int>(counts[lane]); ++row) column.push_back(values[row * kWidth + lane]);
      std::sort(column.begin(), column.end());
      const auto rank = static_cast<std::size_t>(ranks[lane]);
      checks.equal(found[lane], column[column.size() - rank] - column[rank - 1],
                   "spread of " + std::to_string(column.size()));
    }
  }
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  shakedown::Checks checks;
  shakedown::radio::test_functions(checks);
  shakedown::radio::test_edges(checks);
  shakedown::radio::test_spread(checks);
  return checks.end();
}
