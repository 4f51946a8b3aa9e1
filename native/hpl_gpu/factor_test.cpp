// Whole solutions on the host backend, on one rank and on grids whose ranks are threads: the pivots and x as LU with
// partial pivoting defines them, small residuals, and none that passes where the matrix was damaged.
#include "factor.hpp"

#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "hpl/testing/run.hpp"
#include "testing.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace {

using namespace shakedown::hpl_gpu;
using shakedown::Checks;
using shakedown::kSanitized;
using shakedown::hpl::testing::Dice;
namespace gpu = shakedown::gpu;
namespace hpl = shakedown::hpl;
using testing::kSlow;

constexpr unsigned kHang_s = 1500;  // far beyond what this file takes, under any sanitizer

struct Outcome {
  Result result;
  hpl::Check check;
};

struct Run {
  Setup setup;
  std::size_t eager_bytes = 0;
  std::function<void(Store&, const Geometry&)> prepare;
};

std::string words(const Run& run) {
  const auto& c = run.setup.base;
  return testing::words(run.setup, run.eager_bytes) + ", " + name_of(c.exchange) + " up to " +
         std::to_string(c.exchange_threshold) + ", split " + std::to_string(c.split) + ", blocks " +
         std::to_string(run.setup.panel_blocks);
}

std::vector<Outcome> solve(const Run& run) {
  const auto& c = run.setup.base;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(c.p * c.q));
  testing::on_ranks(c, run.eager_bytes, [&](int rank, const Grid& grid, gpu::Device& device) {
    const Calls calls(device, module({}));
    const Geometry geometry = geometry_of(run.setup, grid.row, grid.column);
    Store store(device, run.setup, geometry);
    const gpu::Stream stream(device);
    acquaint(grid, store.column_transport(), store.row_transport());
    testing::spoil(device, store, geometry, stream);
    Factorization(run.setup, grid, geometry, store, calls, {}).rehearse(0);
    generate(geometry, store, calls, stream);
    if (run.prepare) run.prepare(store, geometry);
    auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    outcome.result = Factorization(run.setup, grid, geometry, store, calls, {}).run();
    outcome.check = check(grid, geometry, store, calls, stream, outcome.result.x);
  });
  return outcomes;
}

const hpl::testing::Solution& reference(Index n) {
  static std::map<Index, hpl::testing::Solution> known;
  const auto found = known.find(n);
  if (found != known.end()) return found->second;
  return known[n] = hpl::testing::solve_reference(n, hpl::testing::netlib_matrix(n));
}

void right(Checks& checks, const Run& run) {
  const auto& expected = reference(run.setup.base.n);
  double largest = 0;
  for (const double value : expected.x) largest = std::max(largest, std::fabs(value));
  const auto outcomes = solve(run);
  const std::string what = words(run);
  for (const Outcome& one : outcomes) {
    checks.that(one.result.pivots == expected.pivots, "the pivots: " + what);
    checks.that(one.check.residual < 1, "residual " + std::to_string(one.check.residual) + ": " + what);
    checks.that(one.check.residual == outcomes[0].check.residual && one.result.x == outcomes[0].result.x,
                "the same on all: " + what);
    double off = 0;
    for (std::size_t i = 0; i < one.result.x.size(); ++i)
      off = std::max(off, std::fabs(one.result.x[i] - expected.x[i]));
    checks.that(one.result.x.size() == expected.x.size() && off <= 1e-8 * largest,
                "x is off by " + std::to_string(off) + ": " + what);
    const double sum = total(one.result.shares);
    checks.that(std::fabs(sum - one.result.seconds) < 1e-9 + 1e-6 * sum, "the times sum up: " + what);
  }
}

Run random_run(Dice& dice, Index largest) {
  Run run;
  static_cast<BaseSetup&>(run.setup) = testing::random_setup(dice, 1, largest);
  auto& c = run.setup.base;
  c.exchange = static_cast<hpl::Exchange>(dice.below(3));
  c.exchange_threshold = testing::one_of<Index>(dice, {0, 8, 64});
  c.split = testing::one_of(dice, {0.0, 0.3, 0.5, 1.0});
  run.setup.panel_blocks = static_cast<unsigned>(dice.between(1, 3));
  run.eager_bytes = testing::random_eager_bytes(dice);
  return run;
}

/// The processor's program and this one, on the same grid: the same pivots, and x as far as sums in another order may
/// differ.
void as_the_processor(Checks& checks) {
  const auto blas = shakedown::Blas::load(PLAIN_BLAS, 1);
  for (const auto& [n, nb, p, q] : {std::array{150, 40, 1, 1}, {120, 16, 2, 1}, {130, 33, 1, 2}, {140, 24, 2, 2}}) {
    Run run;
    run.setup.base.n = n;
    run.setup.base.nb = nb;
    run.setup.base.p = p;
    run.setup.base.q = q;
    hpl::testing::Run other;
    other.config = run.setup.base;
    other.ranks = p * q;
    const auto expected = hpl::testing::solve_on_ranks(other, blas).front();
    const auto found = solve(run).front();
    double off = 0, largest = 0;
    for (std::size_t i = 0; i < expected.x.size(); ++i) {
      off = std::max(off, std::fabs(found.result.x[i] - expected.x[i]));
      largest = std::max(largest, std::fabs(expected.x[i]));
    }
    checks.that(found.result.pivots == expected.pivots, "the processor's pivots: " + words(run));
    checks.that(off <= 1e-10 * largest, "the processor's x is off by " + std::to_string(off) + ": " + words(run));
    checks.that(found.check.residual < 10 * expected.check.residual + 0.01, "as small a residual: " + words(run));
    checks.that(std::fabs(found.check.a_norm / expected.check.a_norm - 1) < 1e-14, "the norm of the same matrix");
  }
}

/// A wrong matrix never passes: one changed entry, NaN, infinity, a singular matrix.
void damage(Checks& checks) {
  const auto entry = [](double value) {
    return [value](Store& store, const Geometry& g) {
      if (g.part.row == 0 && g.part.column == 0) *store.a(g.part.height / 2, 0) = value;
    };
  };
  const auto column = [](double value) {
    return [value](Store& store, const Geometry& g) {
      if (g.part.column == 0) std::fill_n(store.a(0, 0), g.part.height, value);
    };
  };
  const double nan = std::nan(""), infinity = HUGE_VAL;
  for (const auto& [p, q] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    if (kSanitized && p * q < 4) continue;
    for (const auto& [name, prepare] :
         {std::pair<std::string, std::function<void(Store&, const Geometry&)>>{"an entry changed", entry(0.123)},
          {"an entry NaN", entry(nan)},
          {"an entry infinite", entry(infinity)},
          {"a column NaN", column(nan)},
          {"a column of zeros", column(0)}}) {
      for (const Index n : {1, 40}) {
        if (kSanitized && n == 1) continue;
        Run run;
        run.setup.base.n = n;
        run.setup.base.nb = std::min<Index>(n, 8);
        run.setup.base.p = p;
        run.setup.base.q = q;
        run.prepare = prepare;
        for (const Outcome& one : solve(run)) {
          checks.that(!(one.check.residual < 16),
                      name + " passes with " + std::to_string(one.check.residual) + ": " + words(run));
        }
      }
    }
  }
}

/// Every moment has one account.
void accounts(Checks& checks) {
  using I = Interval;
  const std::vector<Interval> some = {I{Lane::update, Op::rows, 0, 1},   I{Lane::update, Op::update, 1, 4},
                                      I{Lane::panel, Op::factor, 2, 6},  I{Lane::host, Op::arrive, 5, 8},
                                      I{Lane::host, Op::plan, 8, 9},     I{Lane::rows, Op::pack, 9, 9.5},
                                      I{Lane::update, Op::solve, 10, 11}};
  const auto shares = account(some, 11, 12);
  checks.equal(shares.rows, 1.5, "rows");
  checks.equal(shares.update, 3.0, "update, also while a panel is factored");
  checks.equal(shares.panel, 2.0, "the panel that nothing hides");
  checks.equal(shares.messages, 2.0, "messages that nothing hides");
  checks.equal(shares.wait, 1.5, "nothing to do");
  checks.equal(shares.solve, 1.0, "solve");
  checks.equal(shares.other, 1.0, "after the factorization");
  checks.equal(panel_seconds(some), 4.0, "all of the panel");
}

}  // namespace

int main(int argc, char**) {
  alarm(kHang_s);
  Checks checks;
  const bool many = argc > 1;  // by hand
  constexpr int kAlone = kSlow ? 6 : kSanitized ? 12 : 40;
  constexpr int kRounds = kSanitized ? 1 : 3;
  accounts(checks);
  testing::random_runs(many ? 400 : kAlone, many ? 40 : kRounds, random_run,
                       [&](const Run& run) { right(checks, run); });
  if (!kSanitized) as_the_processor(checks);  // it compares numbers
  damage(checks);
  return checks.end();
}
