// What must be true of whole runs, on ranks that are threads: the same bits however many ranks and threads divide the
// gas, its sums kept, its symmetry, the exact solution nearer with every finer grid, and each fault seen.
#include "solver.hpp"

#include <cmath>
#include <mutex>

#include "check.hpp"
#include "testing/check.hpp"
#include "testing/mpi_in_threads/mpi.h"
#include "testing/sanitized.hpp"
#include "testing/textbook.hpp"

namespace shakedown::hydro {
namespace {

const Isa& widest() { return *isas_here().front(); }

struct Outcome {
  std::uint64_t digest = 0;
  Deviations deviations;
  Progress progress;
};

struct Asked {
  Problem problem;
  std::int64_t columns, rows, steps;
  int ranks = 1, threads = 1, rank_columns = 0;
};

/// A run on so many ranks of so many threads; `spoiled` may do something to the gas before the last two steps.
template <class Spoil>
Outcome run(const Asked& asked, Spoil&& spoiled) {
  Outcome outcome;
  std::mutex lock;
  const int cpu = allowed_cpus().front();
  ranks_in_threads::start(asked.ranks, [&](int rank) {
    Team team(std::vector<int>(static_cast<std::size_t>(asked.threads), cpu));
    const Domain domain = divide(MPI_COMM_WORLD, asked.columns, asked.rows, asked.rank_columns);
    Solver solver(team, widest(), domain, asked.problem);
    const Totals before = solver.totals();
    solver.advance(asked.steps - 2);
    spoiled(solver);
    solver.advance(2);
    const auto digest = solver.digest();
    const auto found = deviations(solver, asked.problem, before);
    const std::lock_guard guard(lock);
    if (rank == 0) outcome = {digest, found, solver.progress()};
  });
  return outcome;
}
Outcome run(const Asked& asked) {
  return run(asked, [](Solver&) {});
}

void divided(Checks& checks) {
  for (const Problem problem : {Problem::blast, Problem::checkers}) {
    const Outcome alone = run({problem, 37, 41, 11});
    checks.that(alone.deviations.worst() <= 1, "one rank: all that must be kept is kept");
    for (const Asked& one :
         {Asked{problem, 37, 41, 11, 1, 3, 0}, Asked{problem, 37, 41, 11, 2, 1, 1}, Asked{problem, 37, 41, 11, 2, 2, 2},
          Asked{problem, 37, 41, 11, 3, 1, 0}, Asked{problem, 37, 41, 11, 6, 1, 2}, Asked{problem, 37, 41, 11, 6, 2, 3},
          Asked{problem, 37, 41, 11, 9, 1, 0}, Asked{problem, 37, 41, 11, 18, 1, 18}}) {
      const Outcome found = run(one);
      const std::string what = std::string(word(problem)) + ", " + std::to_string(one.ranks) + " ranks of " +
                               std::to_string(one.threads) + " threads, " + std::to_string(one.rank_columns) +
                               " across";
      checks.equal(found.digest, alone.digest, what + ": the same bits");
      checks.equal(found.progress.time, alone.progress.time, what + ": at the same time");
      checks.that(found.deviations.worst() <= 1, what + ": kept");
    }
  }
}

/// Steps of the whole solver are those of the books.
void like_the_books(Checks& checks) {
  for (const Problem problem : {Problem::blast, Problem::sod_y, Problem::checkers}) {
    constexpr std::int64_t kColumns = 33, kRows = 20, kSteps = 7;
    testing::Gas gas(kColumns, kRows);
    for (std::int64_t j = 0; j < kRows; ++j) {
      for (std::int64_t i = 0; i < kColumns; ++i) {
        const auto c = at_start(problem, kColumns, kRows, i, j);
        gas.at(i, j) = {c[kMass], c[kAlongX], c[kAlongY], c[kEnergy]};
      }
    }
    testing::advance(gas, kSteps);
    ranks_in_threads::start(1, [&](int) {
      Team team({allowed_cpus().front()});
      Solver solver(team, widest(), divide(MPI_COMM_WORLD, kColumns, kRows, 0), problem);
      solver.advance(3);
      solver.advance(kSteps - 3);
      double most = 0;
      for (std::int64_t j = 0; j < kRows; ++j) {
        for (std::int64_t i = 0; i < kColumns; ++i) {
          const auto& c = gas.at(i, j);
          const double size = std::fabs(c.mass) + std::fabs(c.energy);
          const Field& f = solver.field();
          for (const double d : {f.line(j, kMass)[i] - c.mass, f.line(j, kAlongX)[i] - c.mx,
                                 f.line(j, kAlongY)[i] - c.my, f.line(j, kEnergy)[i] - c.energy}) {
            if (!(std::fabs(d) <= most * size)) most = std::fabs(d) / size;
          }
        }
      }
      checks.that(most < 1e-9, std::string(word(problem)) + ": the steps of the books, but for rounding: " +
                                   std::to_string(most * 1e12) + "e-12");
    });
  }
}

/// A tube's mean error of density at time 0.2 of its length falls with finer grids; in y it is the one in x.
void tube(Checks& checks) {
  double before = 0;
  for (std::int64_t n = 64; n <= (kSanitized ? 128 : 512); n *= 2) {
    double error[2] = {};
    for (const bool along_x : {true, false}) {
      ranks_in_threads::start(1, [&](int) {
        Team team({allowed_cpus().front()});
        const Problem problem = along_x ? Problem::sod_x : Problem::sod_y;
        Solver solver(team, widest(), divide(MPI_COMM_WORLD, along_x ? n : 4, along_x ? 4 : n, 0), problem);
        const Totals start = solver.totals();
        while (solver.progress().time < 0.2 * static_cast<double>(n)) solver.advance(2);
        const double time = solver.progress().time;
        error[along_x ? 0 : 1] = solver.mean([&](double density, std::int64_t i, std::int64_t j) {
          const double x = static_cast<double>(along_x ? i : j) + 0.5 - static_cast<double>(n) / 2;
          return std::fabs(density - exact_riemann(kSodLeft, kSodRight, x / time).density);
        });
        const Deviations found = deviations(solver, problem, start);
        checks.that(found.exact.has_value() && *found.exact <= 1, "the tube is near its exact solution");
        checks.that(found.exact.value_or(0) > 0.4,
                    "and the bound not far above: " + std::to_string(found.exact.value_or(0)));
      });
    }
    checks.that(std::fabs(error[0] - error[1]) < 1e-12, "the tube along y is the one along x");
    if (before > 0) {
      // First order at shocks, two thirds at the contact: between 0.7 and 1.1 for all of it.
      const double order = std::log2(before / error[0]);
      checks.that(order > 0.7 && order < 1.1, std::to_string(n) + " cells: order " + std::to_string(order));
    }
    before = error[0];
  }
  checks.that(before > 0, "there were several grids");
}

/// A blast from a corner is its own image in the diagonal, but for the order of the dimensions.
void symmetric(Checks& checks) {
  ranks_in_threads::start(1, [&](int) {
    Team team({allowed_cpus().front()});
    constexpr std::int64_t kN = 48;
    Solver solver(team, widest(), divide(MPI_COMM_WORLD, kN, kN, 0), Problem::blast);
    solver.advance(80);
    double difference = 0, size = 0;
    for (std::int64_t j = 0; j < kN; ++j) {
      for (std::int64_t i = 0; i < kN; ++i) {
        const Field& f = solver.field();
        difference += std::fabs(f.line(j, kMass)[i] - f.line(i, kMass)[j]) +
                      std::fabs(f.line(j, kAlongX)[i] - f.line(i, kAlongY)[j]);
        size += std::fabs(f.line(j, kMass)[i] - 1) + std::fabs(f.line(j, kAlongX)[i]);
      }
    }
    checks.that(size > 100, "the blast has moved the gas");
    checks.that(difference < 0.05 * size, "a blast is symmetric: " + std::to_string(difference / size));
  });
}

void faults(Checks& checks) {
  for (const int ranks : {1, 4}) {
    for (const int variable : {kMass, kAlongX, kAlongY, kEnergy}) {
      const Outcome found =
          run({Problem::blast, 40, 40, 12, ranks, 1, 0}, [&](Solver& solver) { solver.spoil(30, 20, variable, 1e-6); });
      checks.that(found.deviations.worst() > 1, "a spoiled cell is seen: variable " + std::to_string(variable));
    }
    const Outcome found = run({Problem::blast, 40, 40, 12, ranks, 1, 0},
                              [&](Solver& solver) { solver.spoil(30, 20, kMass, std::nan("")); });
    checks.that(!(found.deviations.worst() <= 1), "and what is no number");
  }
}

/// A run that goes on from a field, a time and what walls gave is the run that was never cut.
void resumed(Checks& checks) {
  const Asked asked{Problem::blast, 24, 30, 10};
  const Outcome whole = run(asked);
  for (const std::int64_t cut : {4, 5}) {
    ranks_in_threads::start(1, [&](int) {
      Team team({allowed_cpus().front()});
      const Domain domain = divide(MPI_COMM_WORLD, asked.columns, asked.rows, 0);
      Solver first(team, widest(), domain, asked.problem), second(team, widest(), domain, asked.problem);
      const Totals before = first.totals();
      first.advance(cut);
      for (std::int64_t row = 0; row < asked.rows; ++row) {
        for (int v = 0; v < kVariables; ++v) {
          std::copy_n(first.field().line(row, v), asked.columns, second.field().line(row, v));
        }
      }
      second.resume(first.progress(), first.pushed());
      second.advance(asked.steps - cut);
      checks.equal(second.digest(), whole.digest, "resumed at step " + std::to_string(cut) + ": the same bits");
      checks.that(deviations(second, asked.problem, before).worst() <= 1, "and all is kept");
    });
  }
}

void refused(Checks& checks) {
  ranks_in_threads::start(4, [&](int rank) {
    int thrown = 0;
    for (const auto& [n, across] : {std::pair{4, 4}, {3, 0}, {100, 3}}) {
      try {
        divide(MPI_COMM_WORLD, n, n, across);
      } catch (const Error& error) {
        thrown += error.code == kUsage ? 1 : 0;
      }
    }
    if (rank == 0) checks.equal(thrown, 3, "grids that ranks cannot divide are refused");
  });
}

}  // namespace
}  // namespace shakedown::hydro

int main() {
  using namespace shakedown::hydro;
  shakedown::Checks checks;
  divided(checks);
  like_the_books(checks);
  tube(checks);
  symmetric(checks);
  faults(checks);
  resumed(checks);
  refused(checks);
  return checks.end();
}
