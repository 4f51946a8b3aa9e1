// Whole solutions on the host backend, on one rank and on grids whose ranks are threads: x as LU in long double gives
// it, small residuals, and none that passes where the system was damaged.
#include <unistd.h>

#include <array>
#include <cmath>
#include <map>

#include "common/check.hpp"
#include "common/clock.hpp"
#include "factor.hpp"
#include "gpu/host.hpp"
#include "hpl/testing/reference.hpp"
#include "hpl/world.hpp"
#include "refine.hpp"

namespace {

using namespace shakedown::hpl_mxp;
using shakedown::Checks;
using shakedown::hpl::testing::Dice;
namespace gpu = shakedown::gpu;
namespace hpl = shakedown::hpl;

constexpr unsigned kHang_s = 1500;  // far beyond what this file takes, under any sanitizer
#if defined(__SANITIZE_THREAD__)
constexpr bool kSlow = true;  // a launch costs much there, and no round is unlike the others in what threads do
#else
constexpr bool kSlow = false;
#endif

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
  const auto& c = run.setup.base;
  const auto number = [](auto value) { return std::to_string(value); };
  return "N " + number(c.n) + ", NB " + number(c.nb) + ", " + number(c.p) + " x " + number(c.q) +
         (c.column_major ? " by columns" : "") + ", " + name_of(c.broadcast) + ", segment " + number(c.segment_bytes) +
         ", tail " + number(run.setup.tail_nb) + " of " + number(run.setup.tail_share) +
         (run.setup.staged ? ", staged, " : ", direct, ") + word(run.setup.precision) + ", eager " +
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
        free_grid(grid);
      },
      run.eager_bytes);
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

template <class T, std::size_t kCount>
T one_of(Dice& dice, const T (&values)[kCount]) {
  return values[static_cast<std::size_t>(dice.below(static_cast<Index>(kCount)))];
}

Run random_run(Dice& dice, Index largest) {
  Run run;
  auto& c = run.setup.base;
  c.n = dice.between(4, largest);
  c.nb = std::min(c.n, one_of<Index>(dice, {1, 3, 8, 13, 32, 33, 64, 65, 100, 150}));
  if (kSlow) c.nb = std::max<Index>(c.nb, std::min<Index>(c.n, 24));
  if (c.nb < 5) c.n = std::min<Index>(c.n, 30);
  c.broadcast = static_cast<hpl::Broadcast>(dice.below(6));
  c.segment_bytes = one_of<Index>(dice, {8, 100, 1 << 20});
  run.setup.tail_nb = one_of<Index>(dice, {0, 0, 5, 32, 40});
  run.setup.tail_share = one_of(dice, {0.25, 0.6, 1.0});
  run.setup.staged = dice.below(2) == 0;
  run.setup.precision = dice.below(2) == 0 ? Precision::f16 : Precision::bf16;
  run.eager_bytes = static_cast<std::size_t>(one_of<Index>(dice, {0, 200, 1 << 20}));
  return run;
}

void one_rank(Checks& checks, int rounds) {
  Dice dice(100);
  for (int round = 0; round < rounds; ++round) right(checks, random_run(dice, kSlow ? 120 : 230));
}

void grids(Checks& checks, int rounds) {
  static constexpr std::pair<int, int> kGrids[] = {{1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1},
                                                   {2, 3}, {3, 2}, {1, 4}, {4, 1}};
  Dice dice(200);
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [p, q] : kGrids) {
      Run run = random_run(dice, kSlow ? 80 : 150);
      run.setup.base.p = p;
      run.setup.base.q = q;
      run.setup.base.column_major = dice.below(2) == 1;
      right(checks, run);
    }
  }
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
    if (kSlow && p * q < 4) continue;
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
    if (kSlow && p * q > 1) continue;
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
  constexpr int kAlone = kSlow ? 3 : 30, kRounds = kSlow ? 1 : 2;
  scales(checks);
  one_rank(checks, many ? 400 : kAlone);
  grids(checks, many ? 40 : kRounds);
  damage(checks);
  wrong_factors(checks);
  return checks.end();
}
