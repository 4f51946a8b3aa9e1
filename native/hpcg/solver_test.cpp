// What must be true of the solver, on ranks that are threads: the reference's products, cycles and residuals; the same
// bits for every number of threads and instruction set; the same answer however ranks divide the grid; each fault seen.
#include "solver.hpp"

#include <cmath>
#include <mutex>

#include "cg.hpp"
#include "checks.hpp"
#include "counts.hpp"
#include "testing/check.hpp"
#include "testing/mpi_in_threads/mpi.h"
#include "testing/sanitized.hpp"

namespace shakedown::hpcg {
namespace {

struct Outcome {
  Solved plain, multigrid, reference;
  double from_ones = 0, deviation = 0;
  bool wrong = false;
  std::vector<double> bits;  // the solution of rank 0
};

struct Asked {
  Triple n;
  int ranks = 1, threads = 1;
  const Isa* isa = isas_here().front();
};

std::vector<int> crowded(int threads) {
  return std::vector<int>(static_cast<std::size_t>(threads), allowed_cpus().front());
}

/// A system solved on so many ranks of so many threads; `spoiled` may do something to the solver of rank 0 at the end.
template <class Spoil>
Outcome run(const Asked& asked, Spoil&& spoiled) {
  Outcome outcome;
  std::mutex lock;
  ranks_in_threads::start(asked.ranks, [&](int rank) {
    Team team(crowded(asked.threads));
    const Problem problem = set_up(team, grid_of(MPI_COMM_WORLD, asked.n));
    Solver solver(team, *asked.isa, problem);
    Reference reference(problem);
    Deviations deviations;
    test_solver(solver, reference, deviations);
    Outcome found;
    found.plain = conjugate_gradients(solver, {20, 0, false});
    found.reference = conjugate_gradients(reference, {12, 0, true});
    found.multigrid = conjugate_gradients(solver, {12, 0, true});
    found.from_ones = distance_from_ones(solver.solution(), solver.grid());
    found.deviation = deviations.worst();
    found.bits.assign(solver.solution().data(), solver.solution().data() + solver.grid().rows());
    if (rank == 0) spoiled(solver);
    MPI_Barrier(MPI_COMM_WORLD);
    for (std::size_t level = 0; level < problem.levels.size(); ++level) {
      found.wrong = found.wrong || wrong_row(solver, level).has_value();
    }
    const std::lock_guard guard(lock);
    if (rank == 0) outcome = found;
  });
  return outcome;
}
Outcome run(const Asked& asked) {
  return run(asked, [](Solver&) {});
}

double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) most = std::max(most, std::fabs(a[k] / b[k] - 1));
  return most;
}

void threads_and_sets(Checks& checks) {
  const Asked alone{{24, 16, 40}};
  const Outcome one = run(alone);
  checks.that(one.deviation <= 1, "the tests of the rules hold");
  checks.that(!one.wrong, "every row of every matrix is that of the grid");
  checks.that(apart(one.multigrid.history, one.reference.history) < 1e-9, "the reference's residuals");
  for (const Isa* const isa : isas_here()) {
    if (kSanitized && isa != isas_here().front()) continue;
    for (const int threads : {1, 2, 3}) {
      const Outcome other = run({alone.n, 1, threads, isa});
      const std::string what = std::string(isa->name) + ", " + std::to_string(threads) + " threads";
      checks.that(other.bits == one.bits, what + ": the same bits");
      checks.that(!other.wrong && other.deviation <= 1, what + ": right");
    }
  }
}

/// One grid of 32 x 32 x 32, by 1, 2, 4 and 8 ranks. Without the multigrid the iterations are the same but for
/// rounding; a sweep of Gauss-Seidel takes what neighbours had before it, so that the multigrid differs a little with
/// their number.
void ranks(Checks& checks) {
  const Outcome one = run({{32, 32, 32}});
  for (const auto& [n, count] :
       {std::pair{Triple{32, 32, 16}, 2}, std::pair{Triple{32, 16, 16}, 4}, std::pair{Triple{16, 16, 16}, 8}}) {
    const Outcome other = run({n, count, count == 2 ? 2 : 1});
    const std::string what = std::to_string(count) + " ranks";
    checks.that(apart(other.plain.history, one.plain.history) < 1e-8,
                what + ": the same residuals without the multigrid");
    checks.that(other.deviation <= 1 && !other.wrong, what + ": right");
    checks.that(apart(other.multigrid.history, other.reference.history) < 1e-8, what + ": the reference's residuals");
    checks.that(other.multigrid.reduction() < 1e-3 && other.from_ones < 1e-2, what + ": near the solution");
  }
}

void spoiled(Checks& checks) {
  const Asked asked{{16, 16, 16}};
  checks.that(run(asked, [](Solver& s) { s.matrix().upper_values()[kRows * 900] *= 1 + 1e-9; }).wrong,
              "a value is seen");
  checks.that(run(asked, [](Solver& s) { ++s.matrix().upper_columns()[kRows * 900 + 3]; }).wrong, "a column is seen");
  checks.that(run(asked, [](Solver& s) { s.matrix().diagonal()[77] = NAN; }).wrong, "what is no number is seen");
  Deviations deviations;
  deviations.add("one", 0.5, 1);
  deviations.add("two", NAN, 1);
  deviations.add("three", 0.1, 1);
  checks.that(!(deviations.worst() <= 1), "what is no number is the worst");
}

/// By hand: a grid of 16^3 has (3 16 - 2)^3 = 46^3 entries, and three coarser ones 22^3, 10^3 and 4^3.
void counted(Checks& checks) {
  Team team(crowded(1));
  const Problem problem = set_up(team, grid_of(MPI_COMM_WORLD, {16, 16, 16}));
  checks.that(problem.entries == std::vector<std::int64_t>{97'336, 10'648, 1'000, 64}, "entries");
  const double cycle = 10.0 * (97'336 + 10'648 + 1'000) + 4.0 * 64;
  checks.equal(cycle_flops(problem), cycle, "operations of a cycle");
  checks.equal(set_flops(problem, 50).sum(), 2 * 151 * 2.0 * 4096 + 51 * 2.0 * 97336 + 50 * cycle,
               "operations of a set");
  // What HPCG 3.0 printed of one set of 50 iterations on 8 ranks of 104^3:
  // tests/recordings/hpcg/intel-3.0-8-ranks.yaml.
  Problem published;
  published.equations = 8998912;
  published.entries = {240641848, 29791000, 3652264, 438976};
  const Flops flops = set_flops(published, 50);
  checks.that(std::fabs(flops.dot / 2.71767e9 - 1) < 2e-6, "operations of published dot products");
  checks.that(std::fabs(flops.multiply / 2.45455e10 - 1) < 2e-6, "of published products");
  checks.that(std::fabs(flops.multigrid / 1.3713e11 - 1) < 4e-5, "of published cycles");
  checks.that(std::fabs(flops.sum() / 1.67111e11 - 1) < 4e-6, "of a published set");
  const Solver solver(team, *isas_here().front(), problem);
  // 12 bytes of each entry beside the diagonal, 8 of the diagonal, of x and of y.
  checks.equal(solver.traffic(0).multiply, 12.0 * (97336 - 4096) + 24.0 * 4096, "bytes of a product");
  checks.equal(divided(8, {16, 16, 16}).z, std::int64_t{2}, "eight ranks are a cube");
  checks.equal(divided(6, {16, 16, 64}).z, std::int64_t{1}, "ranks are added where faces are small");
}

}  // namespace
}  // namespace shakedown::hpcg

int main() {
  using namespace shakedown::hpcg;
  shakedown::Checks checks;
  threads_and_sets(checks);
  ranks(checks);
  spoiled(checks);
  ranks_in_threads::start(1, [&](int) { counted(checks); });
  return checks.end();
}
