#include "world.hpp"

#include <algorithm>
#include <numeric>

#include "common/emit.hpp"

namespace shakedown::hpl {

World join(const Options& options) {
  World world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world.all);
  MPI_Comm_rank(world.all, &world.rank);
  MPI_Comm_size(world.all, &world.size);
  MPI_Comm_split_type(world.all, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &world.host);
  MPI_Comm_rank(world.host, &world.host_rank);
  MPI_Comm_size(world.host, &world.host_size);
  world.group = options.per_host ? world.host : world.all;
  world.group_rank = options.per_host ? world.host_rank : world.rank;
  world.group_size = options.per_host ? world.host_size : world.size;
  world.hosts = gather_words(world.all, host_name());
  const auto mine = dealt_cpus(world.all, world.host, options.cpus, options.threads, options.progress_thread,
                               options.allow_oversubscribe);
  world.cpus = gather_lists(world.all, mine);
  return world;
}

Grid make_grid(const World& world, const Config& config) {
  Grid grid;
  grid.p = config.p;
  grid.q = config.q;
  const int rank = world.group_rank;
  const bool inside = rank < config.p * config.q;
  grid.row = !inside ? -1 : config.column_major ? rank % config.p : rank / config.q;
  grid.column = !inside ? -1 : config.column_major ? rank / config.p : rank % config.q;
  MPI_Comm_split(world.group, inside ? 0 : MPI_UNDEFINED, grid.row * grid.q + grid.column, &grid.all);
  if (!inside) return grid;
  MPI_Comm_split(grid.all, grid.row, grid.column, &grid.in_row);
  MPI_Comm_split(grid.all, grid.column, grid.row, &grid.in_column);
  MPI_Comm_dup(grid.in_column, &grid.for_pivots);
  return grid;
}

void free_grid(Grid& grid) {
  for (MPI_Comm* comm : {&grid.for_pivots, &grid.in_column, &grid.in_row, &grid.all}) {
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
  }
}

std::vector<Object> grid_facts(const World& world, const Grid& grid, const std::vector<std::vector<int>>& binding) {
  // Each rank's row, column, then for each thread the number of its CPUs and the CPUs.
  std::vector<int> mine = {grid.row, grid.column};
  for (const auto& cpus : binding) {
    mine.push_back(static_cast<int>(cpus.size()));
    mine.insert(mine.end(), cpus.begin(), cpus.end());
  }
  const auto all = gather_lists(world.all, mine);
  std::vector<Object> facts;
  for (std::size_t rank = 0; world.rank == 0 && rank < all.size(); ++rank) {
    std::vector<std::string> threads;
    for (auto at = all[rank].begin() + 2; at != all[rank].end(); at += *at + 1) {
      threads.push_back(format_cpu_list({at + 1, at + 1 + *at}));
    }
    Object place;
    place.add("rank", rank).add("host", world.hosts[rank]).add("threads", threads);
    if (all[rank][0] >= 0) place.add("row", all[rank][0]).add("column", all[rank][1]);
    facts.push_back(place);
  }
  return facts;
}

}  // namespace shakedown::hpl
