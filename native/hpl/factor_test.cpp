// Whole solutions on one rank and on grids, each rank a thread with a team of its own: pivots and x as LU with partial
// pivoting defines them, small residuals, and no residual that passes where the matrix was damaged.
#include "factor.hpp"

#include <unistd.h>

#include <cmath>
#include <map>

#include "hpl/testing/reference.hpp"
#include "hpl/testing/run.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace {

using namespace shakedown::hpl;
using shakedown::Blas;
using shakedown::Checks;
using shakedown::kSanitized;
using testing::Dice;
using testing::Outcome;
using testing::Run;
using testing::solve_on_ranks;

constexpr unsigned kHang_s = 900;  // far beyond what this file takes, under any sanitizer
// Random configurations: on one rank, on each grid, and that stop early.
constexpr int kAlone = kSanitized ? 25 : 150, kOnEachGrid = kSanitized ? 2 : 8, kStopped = kSanitized ? 6 : 30;

const testing::Solution& reference(Index n) {
  static std::map<Index, testing::Solution> known;
  const auto found = known.find(n);
  if (found != known.end()) return found->second;
  return known[n] = testing::solve_reference(n, testing::netlib_matrix(n));
}

void right(Checks& checks, const Run& run, const Blas& blas, const Kernels& loops = kernels()) {
  const auto& expected = reference(run.config.n);
  double largest = 0;
  for (const double value : expected.x) largest = std::max(largest, std::fabs(value));
  const auto outcomes = solve_on_ranks(run, blas, loops);
  const std::string what = words(run);
  int inside = 0;
  for (const Outcome& one : outcomes) {
    if (!one.inside) continue;
    ++inside;
    checks.that(one.pivots == expected.pivots, "the pivots: " + what);
    checks.that(one.check.residual < 1, "residual " + std::to_string(one.check.residual) + ": " + what);
    checks.that(one.check.residual == outcomes[0].check.residual && one.x == outcomes[0].x, "the same on all: " + what);
    double off = 0;
    for (std::size_t i = 0; i < one.x.size(); ++i) off = std::max(off, std::fabs(one.x[i] - expected.x[i]));
    checks.that(one.x.size() == expected.x.size() && off <= 1e-8 * largest,
                "x is off by " + std::to_string(off) + ": " + what);
    checks.that(one.seconds > 0 && std::is_sorted(one.stamps.begin(), one.stamps.end()), "the times: " + what);
  }
  checks.equal(inside, run.config.p * run.config.q, "ranks of the grid: " + what);
}

template <class T, std::size_t kCount>
T one_of(Dice& dice, const T (&values)[kCount]) {
  return values[static_cast<std::size_t>(dice.below(static_cast<Index>(kCount)))];
}

Run random_run(Dice& dice, Index largest) {
  Run run;
  Config& c = run.config;
  c.n = dice.between(1, largest);
  c.nb = std::min(c.n, one_of<Index>(dice, {1, 2, 3, 5, 8, 13, 16, 24, 32, 65, 150}));
  if (c.nb < 5) c.n = std::min<Index>(c.n, 60);
  c.broadcast = static_cast<Broadcast>(dice.below(6));
  c.depth = static_cast<int>(one_of<Index>(dice, {0, 1, 1, 2, 3, 6}));
  c.pfact = static_cast<Looking>(dice.below(3));
  c.rfact = static_cast<Looking>(dice.below(3));
  c.nbmin = one_of<Index>(dice, {1, 2, 4, 8, 300});
  c.ndiv = static_cast<int>(one_of<Index>(dice, {2, 3, 5, 1000}));
  c.exchange = static_cast<Exchange>(dice.below(3));
  c.exchange_threshold = one_of<Index>(dice, {0, 8, 64});
  c.solve = static_cast<Solve>(dice.below(3));
  c.split = one_of(dice, {0.0, 0.3, 0.5, 1.0});
  c.segment_bytes = one_of<Index>(dice, {8, 100, 1 << 20});
  run.threads = static_cast<int>(dice.between(1, 4));
  c.panel_threads = static_cast<int>(dice.below(6));
  run.eager_bytes = static_cast<std::size_t>(one_of<Index>(dice, {0, 200, 1 << 20}));
  return run;
}

void one_rank(Checks& checks, const Blas& blas) {
  Dice dice(100);
  for (int round = 0; round < kAlone; ++round) right(checks, random_run(dice, 130), blas);
  // Every way through a panel, at a width that the recursion does not divide evenly.
  for (int way = 0; way < 27; ++way) {
    Run run;
    run.config.n = 61;
    run.config.nb = 23;
    run.config.nbmin = 3;
    run.config.ndiv = 3;
    run.config.pfact = static_cast<Looking>(way % 3);
    run.config.rfact = static_cast<Looking>(way / 3 % 3);
    run.config.depth = way / 9;
    run.threads = 1 + way % 3;
    right(checks, run, blas);
  }
  for (const auto& isa : built_kernels()) {
    Run run;
    run.config.n = 97;
    run.config.nb = 32;
    run.threads = 2;
    try {
      right(checks, run, blas, kernels(isa));
    } catch (const shakedown::Error& error) {  // this machine does not run it
      std::fprintf(stderr, "left out: %s\n", error.what());
    }
  }
}

void grids(Checks& checks, const Blas& blas) {
  static constexpr std::pair<int, int> kGrids[] = {{1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}, {2, 3}, {3, 2},
                                                   {1, 4}, {4, 1}, {1, 6}, {6, 1}, {5, 1}, {1, 5}, {3, 3}};
  Dice dice(200);
  for (int round = 0; round < kOnEachGrid; ++round) {
    for (const auto& [p, q] : kGrids) {
      Run run = random_run(dice, 90);
      run.config.p = p;
      run.config.q = q;
      run.config.column_major = dice.below(2) == 1;
      run.config.progress_thread = dice.below(3) == 0;
      run.threads = static_cast<int>(dice.between(1, 2));
      run.ranks = p * q + (dice.below(3) == 0 ? 1 : 0);  // one is left over
      right(checks, run, blas);
    }
  }
}

/// A run that stops early has factored so many panels, with the right pivots, on every rank; the time of each stands in
/// its stamps.
void windows(Checks& checks, const Blas& blas) {
  Dice dice(300);
  for (int round = 0; round < kStopped; ++round) {
    Run run = random_run(dice, 90);
    Config& c = run.config;
    c.n = dice.between(20, 90);
    c.nb = dice.between(2, 9);
    c.p = static_cast<int>(dice.between(1, 2));
    c.q = static_cast<int>(dice.between(1, 3));
    run.ranks = c.p * c.q;
    c.stop_after = dice.between(0, c.n / c.nb);
    const auto& expected = reference(c.n).pivots;
    const std::string what = words(run);
    for (const Outcome& one : solve_on_ranks(run, blas)) {
      const Index panels = std::min((c.n + c.nb - 1) / c.nb, c.stop_after + 1);
      checks.equal(static_cast<Index>(one.stamps.size()), panels, "panels that were timed: " + what);
      const bool in_order = std::is_sorted(one.stamps.begin(), one.stamps.end()) && one.stamps.front() > 0;
      checks.that(in_order, "one after another: " + what);
      const auto seen = one.pivots.size();
      checks.that(static_cast<Index>(seen) >= std::min(c.n, panels * c.nb) && seen <= expected.size() &&
                      std::equal(one.pivots.begin(), one.pivots.end(), expected.begin()),
                  "with the right pivots: " + what);
      checks.that(one.x.empty(), "and no solution: " + what);
    }
  }
}

/// A wrong matrix never passes: one changed entry, NaN, infinity, a singular matrix.
void damage(Checks& checks, const Blas& blas) {
  const auto entry = [](double value) {
    return [value](System& system) {
      if (system.my_row == 0 && system.my_column == 0) system.row(system.height / 2)[0] = value;
    };
  };
  const auto column = [](double value) {
    return [value](System& system) {
      if (system.my_column != 0) return;
      for (Index i = 0; i < system.height; ++i) system.row(i)[0] = value;
    };
  };
  const double nan = std::nan(""), infinity = HUGE_VAL;
  for (const auto& [p, q] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    if (kSanitized && p * q < 4) continue;
    for (const auto& [name, prepare] :
         {std::pair<std::string, std::function<void(System&)>>{"an entry changed", entry(0.123)},
          {"an entry NaN", entry(nan)},
          {"an entry infinite", entry(infinity)},
          {"a column NaN", column(nan)},
          {"a column of zeros", column(0)}}) {
      for (const Index n : {1, 40}) {
        Run run;
        run.config.n = n;
        run.config.nb = std::min<Index>(n, 8);
        run.config.p = p;
        run.config.q = q;
        run.ranks = p * q;
        run.threads = 2;
        run.prepare = prepare;
        for (const Outcome& one : solve_on_ranks(run, blas)) {
          checks.that(!(one.check.residual < 16),
                      name + " passes with " + std::to_string(one.check.residual) + ": " + words(run));
        }
      }
    }
  }
}

}  // namespace

int main() {
  alarm(kHang_s);
  Checks checks;
  const Blas blas = Blas::load(PLAIN_BLAS, 1);
  one_rank(checks, blas);
  grids(checks, blas);
  windows(checks, blas);
  damage(checks, blas);
  return checks.end();
}
