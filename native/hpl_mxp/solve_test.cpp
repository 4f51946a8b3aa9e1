// Whole solutions on the host backend, on one rank and on grids whose ranks are threads: x as LU in long double gives
// it, small residuals, and none that passes where the system was damaged.
#include <array>
#include <cmath>
#include <map>

#include "common/clock.hpp"
#include "factor.hpp"
#include "hpl_gpu/testing.hpp"
#include "refine.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace {

using namespace shakedown::hpl_mxp;
using shakedown::Checks;
using shakedown::kSanitized;
using shakedown::hpl::testing::Dice;
namespace gpu = shakedown::gpu;
namespace hpl = shakedown::hpl;
namespace testing = shakedown::hpl_gpu::testing;
using testing::kSlow;

constexpr unsigned kHang_s = 1500;  // far beyond what this file takes, under any sanitizer

struct Run {
  Setup setup;
  std::size_t eager_bytes = 0;
  std::function<void(Store&, const Geometry&)> prepare;
  Index enlarged = -1;
};

struct Outcome {
  Result result;
  std::vector<Index> columns;  // of x
  hpl::Check check;
};

std::string words(const Run& run) {
  return testing::words(run.setup, run.eager_bytes) + ", " + word(run.setup.precision);
}

std::vector<Outcome> solve(const Run& run) {
  const auto& c = run.setup.base;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(c.p * c.q));
  testing::on_ranks(c, run.eager_bytes, [&](int rank, const Grid& grid, gpu::Device& device) {
    const Calls calls(device, module({}));
    const Geometry geometry = geometry_of(run.setup, grid.row, grid.column);
    Store store(device, run.setup, geometry);
    const gpu::Stream stream(device);
    testing::spoil(device, store, geometry, stream);
    Factorization(run.setup, grid, geometry, store, calls, {}).rehearse(0);
    generate(grid, geometry, store, calls, stream);
    if (run.prepare) run.prepare(store, geometry);
    auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    const double start = shakedown::now_s();
    Factorization factorization(run.setup, grid, geometry, store, calls, {});
    outcome.result = factorization.run(start);
    factorization.account(outcome.result);
    Refinement(run.setup, grid, geometry, store, calls, stream, run.enlarged).run(outcome.result);
    outcome.check = check(grid, geometry, store, calls, stream, outcome.result.x);
    for (Index j = 0; j < geometry.part.width; ++j)
      outcome.columns.push_back(geometry.part.columns.global(j, grid.column));
  });
  return outcomes;
}

/// x in long double, of the matrix whose diagonal is the sum of the others' absolute values.
const std::vector<long double>& reference(Index n) {
  static std::map<Index, std::vector<long double>> known;
  const auto found = known.find(n);
  if (found != known.end()) return found->second;
  const auto netlib = hpl::testing::netlib_matrix(n);
  const auto at = [n](Index i, Index j) { return static_cast<std::size_t>(i + j * n); };
  std::vector<long double> a(netlib.begin(), netlib.end());
  for (Index i = 0; i < n; ++i) {
    a[at(i, i)] = 0;
    for (Index j = 0; j < n; ++j) {
      if (j != i) a[at(i, i)] += std::fabs(netlib[at(i, j)]);
    }
  }
  for (Index k = 0; k < n; ++k) {
    for (Index i = k + 1; i < n; ++i) {
      const long double factor = a[at(i, k)] / a[at(k, k)];
      for (Index j = k + 1; j <= n; ++j) a[at(i, j)] -= factor * a[at(k, j)];
    }
  }
  std::vector<long double> x(static_cast<std::size_t>(n));
  for (Index i = n - 1; i >= 0; --i) {
    long double sum = a[at(i, n)];
    for (Index j = i + 1; j < n; ++j) sum -= a[at(i, j)] * x[static_cast<std::size_t>(j)];
    x[static_cast<std::size_t>(i)] = sum / a[at(i, i)];
  }
  return known[n] = x;
}

/// The largest distance from the reference, over the largest entry.
double distance(const std::vector<Outcome>& outcomes, Index n) {
  const auto& wanted = reference(n);
  double off = 0, largest = 0;
  for (const long double value : wanted) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  for (const Outcome& one : outcomes) {
    for (std::size_t j = 0; j < one.columns.size(); ++j) {
      const double apart =
          std::fabs(one.result.x[j] - static_cast<double>(wanted[static_cast<std::size_t>(one.columns[j])]));
      off = apart <= off ? off : apart;  // NaN stays
    }
  }
  return off / largest;
}

void right(Checks& checks, const Run& run) {
  const auto outcomes = solve(run);
  const std::string what = words(run);
  const double off = distance(outcomes, run.setup.base.n);
  checks.that(off < 1e-12, "x is off by " + std::to_string(off * 1e12) + "e-12: " + what);
  for (const Outcome& one : outcomes) {
    const auto& r = one.result;
    checks.that(r.converged && r.residuals.size() <= 6, "refined in some steps: " + what);
    checks.that(one.check.residual < 1, "residual " + std::to_string(one.check.residual) + ": " + what);
    checks.that(one.check.residual == outcomes[0].check.residual, "the same on all: " + what);
    checks.that(r.residuals == outcomes[0].result.residuals, "refined alike on all: " + what);
    checks.that(std::fabs(r.residuals.back() - one.check.residual) <= 0.05 * one.check.residual + 1e-3,
                "the refinement's own residual is the check's: " + what);
    for (std::size_t i = 1; i < r.residuals.size(); ++i)
      checks.that(r.residuals[i] < r.residuals[i - 1], "each step is nearer: " + what);
    const double sum = total(r.shares);
    checks.that(std::fabs(sum - r.factor_seconds) < 1e-9 + 1e-6 * sum, "the times sum up: " + what);
  }
}

Run random_run(Dice& dice, Index largest) {
  Run run;
  static_cast<shakedown::hpl_gpu::BaseSetup&>(run.setup) = testing::random_setup(dice, 4, largest);
  run.setup.precision = dice.below(2) == 0 ? Precision::f16 : Precision::bf16;
  run.eager_bytes = testing::random_eager_bytes(dice);
  return run;
}

Run grid_of(int p, int q, Index n = 60, Index nb = kSlow ? 20 : 8) {
  Run run;
  run.setup.base.n = n;
  run.setup.base.nb = nb;
  run.setup.base.p = p;
  run.setup.base.q = q;
  return run;
}

/// What is wrong never passes: NaN, infinity, a column of zeros, another system than the one that is checked.
void damage(Checks& checks) {
  const auto put = [](float value, bool whole_column) {
    return [value, whole_column](Store& store, const Geometry& g) {
      if (g.part.column != 0) return;
      if (whole_column) std::fill_n(store.a(0, 0), g.part.height, value);
      if (g.part.row == 0) *store.a(g.part.height / 2, 0) = value;
    };
  };
  for (const auto& [p, q] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    if (kSanitized && p * q < 4) continue;
    for (const auto& [name, prepare] : {std::pair<std::string, std::function<void(Store&, const Geometry&)>>{
                                            "an entry NaN", put(std::nanf(""), false)},
                                        {"an entry infinite", put(HUGE_VALF, false)},
                                        {"a column NaN", put(std::nanf(""), true)},
                                        {"a column of zeros", put(0, true)}}) {
      Run run = grid_of(p, q);
      run.prepare = prepare;
      for (const Outcome& one : solve(run)) {
        checks.that(!(one.check.residual < 16), name + " passes with " + std::to_string(one.check.residual));
        checks.that(!one.result.converged, name + " converges");
      }
    }
    Run other = grid_of(p, q);
    other.enlarged = 33;
    other.prepare = [](Store& store, const Geometry& g) {
      if (g.part.rows.owner(33) == g.part.row && g.part.columns.owner(33) == g.part.column)
        *store.a(g.part.rows.local(33), g.part.columns.local(33)) *= 1.5F;
    };
    for (const Outcome& one : solve(other)) {
      checks.that(one.result.converged, "another system is solved as well");
      checks.that(!(one.check.residual < 16), "but it is not this one: " + std::to_string(one.check.residual));
    }
  }
}

/// The factors only precondition: where they are somewhat wrong there are more steps and the same x; where they are all
/// wrong it is told.
void wrong_factors(Checks& checks) {
  const auto times = [](float factor, Index every) {
    return [factor, every](Store& store, const Geometry& g) {
      for (Index j = 0; j < g.part.width; j += every) {
        for (Index i = 0; i < g.part.height; ++i) *store.a(i, j) *= factor;
      }
    };
  };
  for (const auto& [p, q] : {std::pair{1, 1}, {2, 2}}) {
    if (kSanitized && p * q > 1) continue;
    Run run = grid_of(p, q, 80);
    const auto plain = solve(run).front().result.residuals.size();
    run.prepare = times(1.02F, 7);
    const auto healed = solve(run);
    checks.that(healed.front().result.converged && healed.front().check.residual < 1, "healed");
    checks.that(healed.front().result.residuals.size() > plain, "in more steps");
    checks.that(distance(healed, 80) < 1e-12, "the same x");
    run.prepare = times(0.3F, 1);
    const auto lost = solve(run).front();
    checks.that(!lost.result.converged && !(lost.check.residual < 16), "not healed, and told");
    run.prepare = {};
    run.setup.refinements = 0;
    const auto rough = solve(run).front();
    checks.that(rough.result.residuals.size() == 1 && !rough.result.converged && !(rough.check.residual < 16),
                "without refinement it is single precision: " + std::to_string(rough.check.residual));
  }
}

void scales(Checks& checks) {
  checks.equal(scale_of(2), 1.0, "small");
  checks.equal(scale_of(4096), 1024.0, "a power of two, a quarter of N");
  checks.equal(scale_of(5000), 1024.0, "rounded down");
  checks.equal(scale_of(1 << 30), 32768.0, "within half precision");
}

}  // namespace

int main(int argc, char**) {
  alarm(kHang_s);
  Checks checks;
  const bool many = argc > 1;  // by hand
  constexpr int kAlone = kSlow ? 3 : kSanitized ? 8 : 30;
  constexpr int kRounds = kSanitized ? 1 : 2;
  scales(checks);
  testing::random_runs(many ? 400 : kAlone, many ? 40 : kRounds, random_run,
                       [&](const Run& run) { right(checks, run); });
  damage(checks);
  wrong_factors(checks);
  return checks.end();
}
