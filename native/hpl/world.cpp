#include "world.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "common/affinity.hpp"
#include "common/emit.hpp"

namespace shakedown::hpl {
namespace {

int cores_of(const std::vector<int>& cpus) {
  std::set<int> cores;
  for (const auto& place : cpu_places(cpus)) cores.insert(place.core);
  return static_cast<int>(cores.size());
}

/// Whether no CPU stands in two masks.
bool apart(const std::vector<std::vector<int>>& masks) {
  std::set<int> seen;
  for (const auto& mask : masks) {
    for (const int cpu : mask) {
      if (!seen.insert(cpu).second) return false;
    }
  }
  return true;
}

bool same(const std::vector<std::vector<int>>& masks) {
  return std::all_of(masks.begin(), masks.end(), [&](const auto& mask) { return mask == masks.front(); });
}

/// `count` CPUs from `from` on, round again where they do not suffice.
std::vector<int> take(const std::vector<int>& cpus, std::size_t from, int count) {
  std::vector<int> taken(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = cpus[(from + i) % cpus.size()];
  return taken;
}

}  // namespace

std::vector<std::vector<int>> deal(const std::vector<std::vector<int>>& masks, const std::vector<int>& list,
                                   int threads, bool progress_thread, bool oversubscribe) {
  const std::size_t ranks = masks.size();
  const bool shared = !list.empty() || (ranks > 1 && same(masks));
  if (!shared && !apart(masks) && !oversubscribe) {
    throw cannot("the launcher bound ranks of one host to CPUs that overlap in part",
                 "bind them apart or not at all: mpirun --bind-to none, srun --cpu-bind=none");
  }
  std::vector<std::vector<int>> dealt;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto& cpus = list.empty() ? masks[r] : list;
    const std::size_t sharers = shared ? ranks : 1;
    const int count = threads > 0 ? threads : std::max(1, cores_of(cpus) / static_cast<int>(sharers));
    const std::size_t wanted = sharers * static_cast<std::size_t>(count);
    if (wanted > cpus.size() && !oversubscribe) {
      throw cannot(std::to_string(sharers) + " rank" + (sharers > 1 ? "s" : "") + " of " + std::to_string(count) +
                       " thread" + (count > 1 ? "s" : "") + " on a host have only the CPUs " + format_cpu_list(cpus),
                   "start fewer ranks, ask for fewer --threads, or bind the ranks to more CPUs");
    }
    auto mine = take(cpus, shared ? r * static_cast<std::size_t>(count) : 0, count);
    if (progress_thread) {  // a CPU that nobody computes on, or the one where the panel's leader runs
      const std::size_t spare = wanted + (shared ? r : 0);
      mine.insert(mine.begin(), spare < cpus.size() ? cpus[spare] : mine.front());
    }
    dealt.push_back(std::move(mine));
  }
  return dealt;
}

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
  std::vector<int> mask;
  together(world.all, [&] { mask = compact_order(cpu_places(allowed_cpus())); });
  const auto masks = gather_lists(world.host, mask);
  std::vector<int> mine;
  together(world.all, [&] {
    const auto list = options.cpus.empty() ? std::vector<int>() : parse_cpu_list(options.cpus);
    for (const int cpu : list) {
      if (std::find(mask.begin(), mask.end(), cpu) == mask.end()) {
        throw usage("--cpus: CPU " + std::to_string(cpu) + " may not be used", "usable: " + format_cpu_list(mask));
      }
    }
    mine = deal(masks, list, options.threads, options.progress_thread,
                options.allow_oversubscribe)[static_cast<std::size_t>(world.host_rank)];
  });
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
