// The job: who is where, pinned to which CPU.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "pingpong.hpp"

namespace shakedown::pingpong {
namespace {

/// Pin this rank; the ranks of its host choose together.
void pin(MPI_Comm world, const Options& options) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int local = 0;
  MPI_Comm_rank(host, &local);
  std::vector<int> mine;
  together(world, [&] { mine = compact_order(cpu_places(allowed_cpus())); });
  const auto allowed = gather_lists(host, mine);
  together(world,
           [&] { pin_thread(place_ranks(allowed, parse_cpu_list(options.cpus))[static_cast<std::size_t>(local)]); });
  MPI_Comm_free(&host);
}

/// Where every rank is, as the kernel says it after pinning.
std::vector<Rank> gather_ranks(MPI_Comm comm, int size) {
  struct Wire {
    std::array<char, 256> host;
    int cpu;
    int pid;
  };
  Wire mine{};
  together(comm, [&] {
    const auto bound = allowed_cpus();
    if (bound.size() != 1)
      throw cannot("the kernel let a rank run on CPUs " + format_cpu_list(bound) + " after pinning");
    mine.cpu = bound.front();
    mine.pid = getpid();
    const std::string name = host_name();
    std::copy(name.begin(), name.end(), mine.host.begin());
  });
  std::vector<Wire> all(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  std::vector<Rank> ranks;
  ranks.reserve(all.size());
  for (const auto& wire : all) ranks.push_back({wire.host.data(), wire.cpu, wire.pid});
  return ranks;
}

void refuse_shared_cpus(const std::vector<Rank>& ranks) {
  for (std::size_t b = 0; b < ranks.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (ranks[a].host != ranks[b].host || ranks[a].cpu != ranks[b].cpu) continue;
      throw cannot("ranks " + std::to_string(a) + " and " + std::to_string(b) + " are both pinned to CPU " +
                       std::to_string(ranks[a].cpu) + " of " + ranks[a].host,
                   "start at most one rank for each CPU, or allow it with --allow-oversubscribe");
    }
  }
}

}  // namespace

World join(const Options& options) {
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  if (world.size < 2) {
    throw usage("pingpong was started with 1 rank and needs at least 2",
                "start it with the mpirun of the MPI it was built with: mpirun -np 2 pingpong");
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &world.control);
  MPI_Comm_dup(MPI_COMM_WORLD, &world.data);
  pin(world.control, options);
  world.ranks = gather_ranks(world.control, world.size);
  if (!options.allow_oversubscribe) refuse_shared_cpus(world.ranks);
  return world;
}

Object World::facts() const {
  std::set<std::string> hosts;
  std::vector<Object> places;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    hosts.insert(ranks[i].host);
    places.push_back(
        Object().add("rank", i).add("host", ranks[i].host).add("cpu", ranks[i].cpu).add("pid", ranks[i].pid));
  }
  Object facts;
  facts.add("world_size", size).add("hosts", std::vector<std::string>(hosts.begin(), hosts.end()));
  facts.add("ranks", places).add("mpi", mpi_version());
  return facts;
}

}  // namespace shakedown::pingpong
