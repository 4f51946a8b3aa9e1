// What the helper of a rank works with.
#pragma once

#include <atomic>
#include <cstdint>

#include "folder.hpp"
#include "topology.hpp"
#include "transport.hpp"

namespace shakedown::checkpoint {

struct Context {
  int rank = 0;
  const Topology* topology = nullptr;
  Transport* transport = nullptr;  // null where there is one rank
  Folder* local = nullptr;         // null where the level is not used
  Folder* global = nullptr;
  int group_size = 0;
  int group_losses = 0;
  double patience_seconds = 0;  // for an operation on storage

  /// For another rank, which may itself have to wait for its storage, for each of the folders.
  [[nodiscard]] Deadline peer_deadline() const { return in_seconds(4.0 * patience_seconds); }
  [[nodiscard]] bool leads_node() const { return topology->leader_of(rank) == rank; }
};

}  // namespace shakedown::checkpoint
