// The ranks of a job: who is where, each pinned to a CPU of its own.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "args.hpp"
#include "emit.hpp"
#include "job.hpp"

namespace shakedown {

/// What a program asks of its ranks.
struct RanksWanted {
  std::string program;
  std::int64_t world_size = 0;  // how many were started; 0: whatever there is
  std::string cpus;             // what --cpus said
  bool allow_oversubscribe = false;
};

/// Ranks that share a CPU must give way to each other: Open MPI's name for that, before MPI is there.
inline void let_ranks_yield() { setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0); }

/// The arguments that say what the ranks must be; read before MPI is there.
inline RanksWanted ranks_wanted(Args& args, const std::string& program) {
  RanksWanted wanted;
  wanted.program = program;
  wanted.world_size =
      args.integer("world-size", 0, 0, "how many ranks were started; another number is refused; 0: any");
  wanted.cpus = args.text("cpus", "", "deal the CPUs of this list to the ranks of each host");
  wanted.allow_oversubscribe = args.flag("allow-oversubscribe", "let ranks share a CPU: for tests, not for figures");
  if (wanted.allow_oversubscribe) let_ranks_yield();
  return wanted;
}

struct Ranks {
  int rank = 0;
  int size = 0;
  MPI_Comm control = MPI_COMM_NULL;
  std::vector<std::string> hosts;  // of each rank
  std::vector<int> cpus;           // of each rank
  std::vector<int> pids;
  bool oversubscribed = false;  // ranks share CPUs: figures mean nothing

  /// How many hosts the first `count` ranks are on.
  [[nodiscard]] int hosts_of(int count) const {
    return static_cast<int>(std::set<std::string>(hosts.begin(), hosts.begin() + count).size());
  }

  [[nodiscard]] const std::string& host_of(int other) const { return hosts[static_cast<std::size_t>(other)]; }

  [[nodiscard]] Object facts() const {
    std::vector<Object> places;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      places.push_back(Object().add("rank", i).add("host", hosts[i]).add("cpu", cpus[i]).add("pid", pids[i]));
    }
    const std::set<std::string> names(hosts.begin(), hosts.end());
    Object facts;
    facts.add("world_size", size).add("hosts", std::vector<std::string>(names.begin(), names.end()));
    facts.add("ranks", places).add("mpi", mpi_version()).add("oversubscribed", oversubscribed);
    return facts;
  }
};

/// The MPI's own name and version: "Open MPI v5.0.11".
inline std::string mpi_name() {
  const std::string text = mpi_version();
  return text.substr(0, text.find(','));
}

/// Pin every rank and gather where all of them are. Throws on every rank alike: fewer than two ranks, or another number
/// than was started.
inline Ranks join_ranks(const RanksWanted& wanted) {
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  if (wanted.world_size > 0 && wanted.world_size != ranks.size) {
    throw cannot(std::to_string(ranks.size) + " rank" + (ranks.size == 1 ? "" : "s") + " where " +
                     std::to_string(wanted.world_size) + " were started",
                 "the launcher is of another MPI than the program was built with: use that MPI's own mpirun");
  }
  if (ranks.size < 2) {
    throw usage(wanted.program + " was started with 1 rank and needs at least 2",
                "start it with the mpirun of the MPI it was built with: mpirun -np 2 " + wanted.program);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &ranks.control);
  ranks.hosts = gather_words(ranks.control, host_name());
  MPI_Comm host = MPI_COMM_NULL;
  const auto first = std::find(ranks.hosts.begin(), ranks.hosts.end(), ranks.host_of(ranks.rank)) - ranks.hosts.begin();
  MPI_Comm_split(ranks.control, static_cast<int>(first), ranks.rank, &host);
  const auto cpus = dealt_cpus(ranks.control, host, wanted.cpus, 1, false, wanted.allow_oversubscribe);
  together(ranks.control, [&] { pin_thread(cpus.front()); });
  MPI_Comm_free(&host);
  std::set<std::pair<std::string, int>> taken;
  for (const auto& list : gather_lists(ranks.control, {cpus.front()})) {
    ranks.oversubscribed |= !taken.insert({ranks.hosts[ranks.cpus.size()], list.front()}).second;
    ranks.cpus.push_back(list.front());
  }
  for (const auto& list : gather_lists(ranks.control, {static_cast<int>(getpid())})) ranks.pids.push_back(list.front());
  return ranks;
}

}  // namespace shakedown
