// Which rank of which job this process is, by the variables that launchers set.
#pragma once

#include <functional>
#include <string>

namespace shakedown::placement {

struct LaunchedRank {
  int rank = -1;         // -1: no launcher said
  int size = -1;         // -1: not said
  int local_rank = -1;   // among the ranks of this host; -1: not said
  std::string launcher;  // whose variables these are: "Open MPI", "Hydra" ...; empty: none
};

/// What `variable` (a name -> its value, or null) says; the first launcher that names a rank counts. A launcher inside
/// of a job of another (mpirun in srun's step) comes first.
LaunchedRank launched_rank(const std::function<const char*(const char*)>& variable);

}  // namespace shakedown::placement
