// The CPUs of a rank under each arrangement that a launch is compared with.
#pragma once

#include <string>
#include <vector>

#include "common/affinity.hpp"

namespace shakedown::placement {

/// The CPUs of the rank with this number among those of its host, with `threads` busy threads: "compact" (neighbouring
/// cores), "spread" (in turn over sockets and NUMA nodes), "one-node" (any CPU of the first NUMA node that has most),
/// "unbound" (any CPU). Where ranks outnumber cores they go round again. Throws a usage error for another word.
std::vector<int> arranged_cpus(const std::string& word, int local_rank, int threads,
                               const std::vector<CpuPlace>& places);

/// All CPUs that this process may be moved to: a launcher's mask narrows what a rank begins with, and not what it may
/// ask for. The mask is as before afterwards.
std::vector<int> reachable_cpus();

}  // namespace shakedown::placement
