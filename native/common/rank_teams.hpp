// Ranks with a team of threads each: where they are, and what their threads are bound to.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "emit.hpp"
#include "job.hpp"
#include "team.hpp"

namespace shakedown {

/// A rank among all of the job, and among those of its host.
struct HostRanks {
  MPI_Comm all = MPI_COMM_NULL, host = MPI_COMM_NULL;
  int rank = 0, size = 1, host_size = 1;
};

/// Every rank calls it.
inline HostRanks join_hosts() {
  HostRanks found;
  MPI_Comm_dup(MPI_COMM_WORLD, &found.all);
  MPI_Comm_rank(found.all, &found.rank);
  MPI_Comm_size(found.all, &found.size);
  MPI_Comm_split_type(found.all, MPI_COMM_TYPE_SHARED, found.rank, MPI_INFO_NULL, &found.host);
  MPI_Comm_size(found.host, &found.host_size);
  return found;
}

/// Each rank's host and the CPUs that its threads are bound to; every rank calls it.
inline std::vector<Object> team_places(MPI_Comm all, const Team& team) {
  const auto hosts = gather_words(all, host_name());
  std::string mine;
  for (const auto& cpus : team.binding_words()) mine += (mine.empty() ? "" : " ") + cpus;
  const auto bound = gather_words(all, mine);
  std::vector<Object> places;
  for (std::size_t k = 0; k < hosts.size(); ++k) {
    places.push_back(Object().add("rank", k).add("host", hosts[k]).add("threads", bound[k]));
  }
  return places;
}

}  // namespace shakedown
