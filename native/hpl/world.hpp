// The job: which rank is where, which CPUs its threads have, and the grid it stands in.
#pragma once

#include <string>
#include <vector>

#include "common/job.hpp"
#include "options.hpp"

namespace shakedown::hpl {

struct World {
  int rank = 0, size = 1;
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm host = MPI_COMM_NULL;   // the ranks of this host
  MPI_Comm group = MPI_COMM_NULL;  // those that solve one system together: the host's or all
  int host_rank = 0, host_size = 1;
  int group_rank = 0, group_size = 1;
  std::vector<std::string> hosts;      // by rank
  std::vector<std::vector<int>> cpus;  // by rank: of its threads, as chosen
  [[nodiscard]] const std::string& my_host() const { return hosts[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<int>& my_cpus() const { return cpus[static_cast<std::size_t>(rank)]; }
};

/// Gather where all ranks are and deal the CPUs. Throws on every rank alike: where two threads would share a CPU, or a
/// rank has fewer CPUs than threads, and that was not allowed.
World join(const Options& options);

/// This rank in the grid of a configuration, over the group; row -1 for ranks that are left over.
Grid make_grid(const World& world, const Config& config);
void free_grid(Grid& grid);

/// Each rank's place in the grid and the CPUs that the kernel says its threads are bound to, for the facts. Rank 0 of
/// all has the list, the others an empty one; every rank calls it.
std::vector<Object> grid_facts(const World& world, const Grid& grid, const std::vector<std::vector<int>>& binding);

}  // namespace shakedown::hpl
