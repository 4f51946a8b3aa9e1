// Whole solutions on the host backend, on one rank and on grids whose ranks are threads: the pivots and x as LU with
// partial pivoting defines them, small residuals, and none that passes where the matrix was damaged.
#include "factor.hpp"

#include <unistd.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "common/check.hpp"
#include "gpu/host.hpp"
#include "hpl/testing/reference.hpp"
#include "hpl/testing/run.hpp"

namespace {

using namespace shakedown::hpl_gpu;
using shakedown::Checks;
using shakedown::hpl::testing::Dice;
namespace gpu = shakedown::gpu;
namespace hpl = shakedown::hpl;

constexpr unsigned kHang_s = 1500;  // far beyond what this file takes, under any sanitizer

struct Outcome {
  bool inside = false;
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
  const auto number = [](auto value) { return std::to_string(value); };
  return "N " + number(c.n) + ", NB " + number(c.nb) + ", " + number(c.p) + " x " + number(c.q) +
         (c.column_major ? " by columns" : "") + ", " + name_of(c.broadcast) + ", " + name_of(c.exchange) + " up to " +
         number(c.exchange_threshold) + ", split " + number(c.split) + ", segment " + number(c.segment_bytes) +
         ", tail " + number(run.setup.tail_nb) + " of " + number(run.setup.tail_share) +
         (run.setup.staged ? ", staged" : ", direct") + ", blocks " + number(run.setup.panel_blocks) + ", eager " +
         number(run.eager_bytes);
}

std::vector<Outcome> solve(const Run& run) {
  const auto& c = run.setup.base;
  const int ranks = c.p * c.q;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  ranks_in_threads::start(
      ranks,
      [&](int rank) {
        hpl::World world;
        MPI_Comm_dup(MPI_COMM_WORLD, &world.all);
        world.group = world.all;
        world.rank = world.group_rank = rank;
        world.size = world.group_size = ranks;
        Grid grid = make_grid(world, c);
        const auto device = std::move(gpu::host_devices(1).front());
        const Calls calls(*device, module({}));
        const Geometry geometry = geometry_of(run.setup, grid.row, grid.column);
        Store store(*device, run.setup, geometry);
        const gpu::Stream stream(*device);
        acquaint(grid, store);
        generate(geometry, store, calls, stream);
        if (run.prepare) run.prepare(store, geometry);
        auto& outcome = outcomes[static_cast<std::size_t>(rank)];
        outcome.inside = true;
        outcome.result = Factorization(run.setup, grid, geometry, store, calls, {}).run();
        outcome.check = check(grid, geometry, store, calls, stream, outcome.result.x);
        free_grid(grid);
      },
      run.eager_bytes);
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

template <class T, std::size_t kCount>
T one_of(Dice& dice, const T (&values)[kCount]) {
  return values[static_cast<std::size_t>(dice.below(static_cast<Index>(kCount)))];
}

Run random_run(Dice& dice, Index largest) {
  Run run;
  auto& c = run.setup.base;
  c.n = dice.between(1, largest);
  c.nb = std::min(c.n, one_of<Index>(dice, {1, 3, 8, 13, 32, 33, 64, 65, 100, 150}));
  if (c.nb < 5) c.n = std::min<Index>(c.n, 30);
  c.broadcast = static_cast<hpl::Broadcast>(dice.below(6));
  c.exchange = static_cast<hpl::Exchange>(dice.below(3));
  c.exchange_threshold = one_of<Index>(dice, {0, 8, 64});
  c.split = one_of(dice, {0.0, 0.3, 0.5, 1.0});
  c.segment_bytes = one_of<Index>(dice, {8, 100, 1 << 20});
  run.setup.tail_nb = one_of<Index>(dice, {0, 0, 5, 32, 40});
  run.setup.tail_share = one_of(dice, {0.25, 0.6, 1.0});
  run.setup.staged = dice.below(2) == 0;
  run.setup.panel_blocks = static_cast<unsigned>(dice.between(1, 3));
  run.eager_bytes = static_cast<std::size_t>(one_of<Index>(dice, {0, 200, 1 << 20}));
  return run;
}

void one_rank(Checks& checks, int rounds) {
  Dice dice(100);
  for (int round = 0; round < rounds; ++round) right(checks, random_run(dice, 230));
}

void grids(Checks& checks, int rounds) {
  static constexpr std::pair<int, int> kGrids[] = {{1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1},
                                                   {2, 3}, {3, 2}, {1, 4}, {4, 1}};
  Dice dice(200);
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [p, q] : kGrids) {
      Run run = random_run(dice, 150);
      run.setup.base.p = p;
      run.setup.base.q = q;
      run.setup.base.column_major = dice.below(2) == 1;
      right(checks, run);
    }
  }
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
#if defined(__SANITIZE_THREAD__)  // what threads do depends on no entry
  const std::vector<std::pair<int, int>> shapes = {{2, 2}};
#else
  const std::vector<std::pair<int, int>> shapes = {{1, 1}, {2, 1}, {2, 2}};
#endif
  for (const auto& [p, q] : shapes) {
    for (const auto& [name, prepare] :
         {std::pair<std::string, std::function<void(Store&, const Geometry&)>>{"an entry changed", entry(0.123)},
          {"an entry NaN", entry(nan)},
          {"an entry infinite", entry(infinity)},
          {"a column NaN", column(nan)},
          {"a column of zeros", column(0)}}) {
      for (const Index n : {1, 40}) {
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
#if defined(__SANITIZE_THREAD__)
  constexpr int kAlone = 12, kRounds = 1;  // each round is slow there, and none is unlike the others in what threads do
#else
  constexpr int kAlone = 40, kRounds = 3;
#endif
  accounts(checks);
  one_rank(checks, many ? 400 : kAlone);
  grids(checks, many ? 40 : kRounds);
  as_the_processor(checks);
  damage(checks);
  return checks.end();
}
