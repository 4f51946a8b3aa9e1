// Which CPUs the threads of each rank of a host get.
#pragma once

#include <string>
#include <vector>

#include "error.hpp"

namespace shakedown {

/// The CPUs of each rank of one host, thread by thread; `masks` are what the kernel lets each use, in the order in
/// which they are taken, `list` (may be empty) what is dealt instead. Ranks that were bound apart keep their own; those
/// with the same mask share it evenly. `threads` of 0: one for each core. Throws where masks overlap in part, or
/// threads outnumber CPUs and `oversubscribe` is false.
std::vector<std::vector<int>> deal(const std::vector<std::vector<int>>& masks, const std::vector<int>& list,
                                   int threads, bool progress_thread, bool oversubscribe);

}  // namespace shakedown
