// A whole run on ranks that are threads: the matrix, its factorization and solution, the check.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "hpl/factor.hpp"
#include "hpl/world.hpp"

namespace shakedown::hpl::testing {

/// What one rank found.
struct Outcome {
  std::vector<Index> pivots;
  std::vector<double> x;
  System::Check check;
  std::vector<double> stamps;
  double seconds = 0;
  bool inside = false;
};

struct Run {
  Config config;
  int ranks = 1;
  int threads = 1;                       // of each rank, a progress thread beside them
  std::size_t eager_bytes = 0;           // of the messages: see mpi.h
  std::function<void(System&)> prepare;  // what is done to the matrix after it was made
};

inline std::string words(const Run& run) {
  const auto& c = run.config;
  const auto number = [](auto value) { return std::to_string(value); };
  return "N " + number(c.n) + ", NB " + number(c.nb) + ", " + number(c.p) + " x " + number(c.q) + " of " +
         number(run.ranks) + (c.column_major ? " by columns" : "") + ", " + number(run.threads) + " threads" +
         (c.progress_thread ? " and one for MPI" : "") + ", " + name_of(c.broadcast) + ", depth " + number(c.depth) +
         ", " + name_of(c.pfact) + ", " + name_of(c.rfact) + ", nbmin " + number(c.nbmin) + ", ndiv " + number(c.ndiv) +
         ", " + name_of(c.exchange) + " up to " + number(c.exchange_threshold) + ", " + name_of(c.solve) + ", split " +
         number(c.split) + ", segment " + number(c.segment_bytes) + ", gang " + number(c.panel_threads) + ", stop " +
         number(c.stop_after) + ", eager " + number(run.eager_bytes);
}

inline std::vector<Outcome> solve_on_ranks(const Run& run, const Blas& blas, const Kernels& loops = kernels()) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(run.ranks));
  const auto cpus = allowed_cpus();
  ranks_in_threads::start(
      run.ranks,
      [&](int rank) {
        World world;
        MPI_Comm_dup(MPI_COMM_WORLD, &world.all);
        world.group = world.all;
        world.rank = world.group_rank = rank;
        world.size = world.group_size = run.ranks;
        Grid grid = make_grid(world, run.config);
        auto& outcome = outcomes[static_cast<std::size_t>(rank)];
        outcome.inside = grid.inside();
        if (!grid.inside()) return;
        const int threads = run.threads + (run.config.progress_thread ? 1 : 0);
        Team team(
            std::vector<int>(static_cast<std::size_t>(threads), cpus[static_cast<std::size_t>(rank) % cpus.size()]));
        System system(run.config, grid, Pages::base);
        system.generate(team);
        if (run.prepare) run.prepare(system);
        Factorization factorization(run.config, grid, blas, loops, team, system, [](auto&&...) {});
        Result result = factorization.run();
        if (run.config.stop_after < 0) outcome.check = system.check(team, grid, loops, result.x);
        outcome.seconds = result.seconds;
        outcome.stamps = std::move(result.stamps);
        outcome.pivots = std::move(result.pivots);
        outcome.x = std::move(result.x);
        free_grid(grid);
      },
      run.eager_bytes);
  return outcomes;
}

}  // namespace shakedown::hpl::testing
