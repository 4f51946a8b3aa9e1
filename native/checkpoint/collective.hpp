// What the ranks say to each other by the application's allgather, on the caller's thread.
#pragma once

#include <vector>

#include "bytes.hpp"
#include "include/shakedown/checkpoint.h"

namespace shakedown::checkpoint {

/// The bytes of every rank, of any length each; empty where the callback failed. COLLECTIVE.
std::vector<Bytes> gather(const shakedown_ckpt_comm& comm, const Bytes& mine);

}  // namespace shakedown::checkpoint
