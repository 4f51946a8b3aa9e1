// The job: who is where, pinned to which CPU, and which ranks take part.
#include "collectives.hpp"
#include "common/rest.hpp"

namespace shakedown::collectives {

World join(const Options& options) {
  World world = join_ranks(options.ranks);
  for (const int count : options.groups) {
    if (count > world.size || count == 1) {
      throw usage("--groups: " + std::to_string(count) + " of " + std::to_string(world.size) + " ranks",
                  "from 2 to as many as there are, or 0 for all");
    }
  }
  for (const int root : options.roots) {
    if (root >= world.size) {
      throw usage("--roots: there are ranks 0 to " + std::to_string(world.size - 1) + ", not " + std::to_string(root));
    }
  }
  return world;
}

Group group_among(const World& world, const std::vector<int>& members, int number) {
  Group group;
  group.size = static_cast<int>(members.size());
  group.rank = static_cast<int>(std::find(members.begin(), members.end(), world.rank) - members.begin());
  MPI_Comm_split(world.control, number < 0 ? MPI_UNDEFINED : number, group.rank, &group.data);
  if (number >= 0) MPI_Comm_dup(group.data, &group.control);
  return group;
}

void leave(Group& group) {
  for (auto* comm : {&group.control, &group.data}) {
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
  }
  group = {};
}

void rest(const World& world) {
  MPI_Request all_here = MPI_REQUEST_NULL;
  MPI_Ibarrier(world.control, &all_here);
  shakedown::rest(all_here);
}

}  // namespace shakedown::collectives
