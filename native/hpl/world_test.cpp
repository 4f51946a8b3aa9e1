// The CPUs of a host's ranks: kept apart, shared evenly, refused. And who stands where in a grid.
#include "world.hpp"

#include <numeric>

#include "common/affinity.hpp"
#include "testing/check.hpp"
#include "testing/mpi_in_threads/mpi.h"

namespace {

using namespace shakedown::hpl;
using shakedown::Checks;
using shakedown::deal;
using shakedown::Error;
using Masks = std::vector<std::vector<int>>;

bool is(const Masks& found, const Masks& expected) { return found == expected; }

void dealt(Checks& checks) {
  const Masks one = {{0, 1, 2, 3}};
  checks.that(is(deal(one, {}, 2, false, false), {{0, 1}}), "one rank takes the first of its CPUs");
  checks.that(is(deal(one, {3, 1}, 2, false, false), {{3, 1}}), "or those that were named, in their order");
  checks.that(is(deal(one, {}, 4, false, false), {{0, 1, 2, 3}}), "or all");
  checks.throws<Error>([&] { deal(one, {}, 5, false, false); }, "more threads than CPUs are refused");
  checks.that(is(deal(one, {}, 6, false, true), {{0, 1, 2, 3, 0, 1}}), "unless that is allowed");

  const Masks shared = {{0, 1, 2, 3}, {0, 1, 2, 3}};
  checks.that(is(deal(shared, {}, 2, false, false), {{0, 1}, {2, 3}}), "ranks with one mask share it");
  checks.that(is(deal(shared, {}, 1, false, false), {{0}, {1}}), "evenly");
  checks.that(is(deal(shared, {4, 5}, 1, false, false), {{4}, {5}}), "and the CPUs that were named");
  checks.throws<Error>([&] { deal(shared, {}, 3, false, false); }, "3 and 3 threads on 4 CPUs are refused");
  checks.that(is(deal(shared, {}, 3, false, true), {{0, 1, 2}, {3, 0, 1}}), "unless that is allowed");

  const Masks apart = {{0, 1}, {2, 3}};
  checks.that(is(deal(apart, {}, 2, false, false), {{0, 1}, {2, 3}}), "ranks that were bound apart keep their own");
  checks.that(is(deal(apart, {}, 1, false, false), {{0}, {2}}), "the first of them");
  checks.throws<Error>([&] { deal(apart, {}, 3, false, false); }, "and no more");

  const Masks overlap = {{0, 1}, {1, 2}};
  checks.throws<Error>([&] { deal(overlap, {}, 1, false, false); }, "masks that overlap in part are refused");
  try {
    deal(overlap, {}, 1, false, false);
  } catch (const Error& error) {
    checks.equal(static_cast<int>(error.code), 3, "it could not be measured");
    checks.that(std::string(error.what()).find("--bind-to none") != std::string::npos, "and what to do is said");
  }
  checks.that(is(deal(overlap, {}, 1, false, true), {{0}, {1}}), "unless sharing is allowed");
  checks.that(is(deal(overlap, {7, 8}, 1, false, false), {{7}, {8}}), "or the CPUs were named");
}

void progress_threads(Checks& checks) {
  const Masks one = {{0, 1, 2, 3}};
  checks.that(is(deal(one, {}, 3, true, false), {{3, 0, 1, 2}}), "MPI's thread takes a CPU that nobody computes on");
  checks.that(is(deal(one, {}, 4, true, false), {{0, 0, 1, 2, 3}}), "or shares the one of the panel's leader");
  const Masks shared = {{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}};
  checks.that(is(deal(shared, {}, 2, true, false), {{4, 0, 1}, {5, 2, 3}}), "each rank's has its own spare CPU");
  checks.that(is(deal(shared, {}, 3, true, false), {{0, 0, 1, 2}, {3, 3, 4, 5}}), "where there is one");
  const Masks apart = {{0, 1}, {2, 3}};
  checks.that(is(deal(apart, {}, 1, true, false), {{1, 0}, {3, 2}}), "ranks bound apart find it in their own");
}

/// Without a number: a thread for each core, of this machine's as it is.
void automatic(Checks& checks) {
  const auto cpus = shakedown::allowed_cpus();
  const auto cores = static_cast<std::size_t>(shakedown::usable_cores());
  const auto alone = deal({cpus}, {}, 0, false, false);
  checks.equal(alone[0].size(), cores, "a thread for each core");
  const auto two = deal({cpus, cpus}, {}, 0, false, cores < 2);
  checks.equal(two[0].size(), std::max<std::size_t>(1, cores / 2), "or the rank's share of them");
  checks.equal(deal(Masks(200, cpus), {}, 0, false, true).back().size(), std::max<std::size_t>(1, cores / 200),
               "never less than one");
}

/// Every rank has one place; rows and columns are numbered as their communicators are; who is left over is outside.
void grids(Checks& checks) {
  for (const bool column_major : {false, true}) {
    for (const auto& sides : {std::pair{1, 1}, {2, 3}, {3, 2}, {1, 6}, {2, 2}}) {
      const int p = sides.first, q = sides.second;
      std::vector<int> bad(6);
      ranks_in_threads::start(6, [&](int rank) {
        World world;
        MPI_Comm_dup(MPI_COMM_WORLD, &world.all);
        world.group = world.all;
        world.rank = world.group_rank = rank;
        world.size = world.group_size = 6;
        Config config;
        config.p = p;
        config.q = q;
        config.column_major = column_major;
        Grid grid = make_grid(world, config);
        auto& wrong = bad[static_cast<std::size_t>(rank)];
        if (rank >= p * q) {
          wrong = grid.inside() || grid.all != MPI_COMM_NULL ? 1 : 0;
          return;
        }
        const int row = column_major ? rank % p : rank / q, column = column_major ? rank / p : rank % q;
        int in_row = -1, in_column = -1, in_all = -1, size = -1;
        MPI_Comm_rank(grid.in_row, &in_row);
        MPI_Comm_rank(grid.in_column, &in_column);
        MPI_Comm_rank(grid.all, &in_all);
        MPI_Comm_size(grid.in_row, &size);
        wrong = grid.row == row && grid.column == column && in_row == column && in_column == row && size == q &&
                        in_all == row * q + column
                    ? 0
                    : 1;
        free_grid(grid);
      });
      checks.equal(std::accumulate(bad.begin(), bad.end(), 0), 0,
                   std::to_string(p) + " x " + std::to_string(q) + (column_major ? " by columns" : " by rows"));
    }
  }
}

void launchers(Checks& checks) {
  const auto is_launched = [](std::vector<const char*> variables) {
    variables.push_back(nullptr);
    return shakedown::launched(variables.data());
  };
  for (const char* mark :
       {"OMPI_COMM_WORLD_SIZE=4", "PMIX_RANK=0", "PMIX_NAMESPACE=x", "PMI_FD=3", "PMI_RANK=1", "MV2_COMM_WORLD_RANK=0",
        "SLURM_PROCID=2", "FLUX_TASK_RANK=0", "PALS_RANKID=0", "ALPS_APP_PE=0"}) {
    checks.that(is_launched({"HOME=/root", mark}), std::string("a rank of a launcher: ") + mark);
  }
  checks.that(!is_launched({}), "no variable, no launcher");
  for (const char* other : {"OMPI_MCA_btl=self", "SLURM_JOB_ID=7", "PMIX_MCA_gds=hash", "XPMI_RANK=1"}) {
    checks.that(!is_launched({other}), std::string("says nothing of ranks: ") + other);
  }
}

}  // namespace

int main() {
  Checks checks;
  launchers(checks);
  dealt(checks);
  progress_threads(checks);
  automatic(checks);
  grids(checks);
  return checks.end();
}
