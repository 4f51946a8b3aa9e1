// Where checkpoints lie whose cost is measured: folders of nodes, which are hosts or stand for them on one host.
#pragma once

#include <optional>
#include <string>

#include "checkpoints.hpp"
#include "run.hpp"
#include "storage/folder.hpp"

namespace shakedown::hydro {

/// The folders of one measurement, gone afterwards whatever happens; all is collective. On one host every rank is a
/// node with a folder of its own, on several every host.
class CostFolders {
 public:
  /// Throws on all ranks alike where a folder cannot be made.
  CostFolders(const Place& place, const CostOptions& options);

  [[nodiscard]] int nodes() const { return nodes_; }
  /// Whether ranks of one host stand for nodes.
  [[nodiscard]] bool emulated() const { return emulated_; }
  /// What the library is told.
  [[nodiscard]] CheckpointOptions options(int level) const;

  /// Throws on all ranks alike where there is no room for three generations of a level, the state of so many bytes.
  void require_room(const std::vector<std::int64_t>& levels, std::uint64_t state_bytes) const;
  /// Takes away what a failure of this class takes: nothing, a node, as many nodes of a group as may be lost, all.
  void lose(int level);
  /// Lets the kernel forget what it holds of the files in memory.
  void forget();
  /// Removes all checkpoints.
  void clear();

 private:
  [[nodiscard]] bool is_first_of_node() const { return emulated_ || host_rank_ == 0; }

  const Place& place_;
  int host_rank_ = 0, nodes_ = 1, node_ = 0;
  bool emulated_ = true;
  std::optional<storage::Workplace> own_, shared_;  // of a host's first rank, and of rank 0
  std::string base_, local_, global_;
  std::string local_parent_, global_parent_;
};

}  // namespace shakedown::hydro
