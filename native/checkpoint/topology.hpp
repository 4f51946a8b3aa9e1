// Who lies where, and from that, the same on all ranks: who keeps whose copy, and which ranks share a code.
#pragma once

#include <string>
#include <vector>

namespace shakedown::checkpoint {

struct Place {
  std::string node;
  std::string domain;
};

struct Group {
  std::vector<int> members;  // ranks, each on a node of its own; empty: this rank is in no group
  int losses = 0;            // so many of them may be lost
};

class Topology {
 public:
  explicit Topology(std::vector<Place> places);

  [[nodiscard]] int ranks() const { return static_cast<int>(node_.size()); }
  [[nodiscard]] int nodes() const { return static_cast<int>(on_node_.size()); }
  [[nodiscard]] int node_of(int rank) const { return node_[static_cast<std::size_t>(rank)]; }
  /// Ranks of a node, ascending. The first is the one that acts for all.
  [[nodiscard]] const std::vector<int>& on_node(int node) const { return on_node_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int leader_of(int rank) const { return on_node(node_of(rank)).front(); }
  [[nodiscard]] const std::string& name_of_node(int node) const;

  /// The rank that keeps a copy for this one: on the next node of another failure domain. -1 where there is none.
  [[nodiscard]] int partner_of(int rank) const { return partner_[static_cast<std::size_t>(rank)]; }
  /// Whose copies this rank keeps.
  [[nodiscard]] const std::vector<int>& copies_at(int rank) const { return copies_[static_cast<std::size_t>(rank)]; }

  /// The ranks that share a code with this one: those at the same place on `size` nodes, next to each other when the
  /// nodes are dealt out domain by domain. The last group of a row is larger where what is left would be too few. No
  /// members where not enough nodes are there, or where one domain holds more members than may be lost.
  [[nodiscard]] Group group_of(int rank, int size, int losses) const;

 private:
  [[nodiscard]] int slot_of(int rank) const;
  [[nodiscard]] int found_partner(int rank, std::size_t dealt_at) const;

  std::vector<Place> places_;
  std::vector<int> node_;                  // of each rank
  std::vector<std::vector<int>> on_node_;  // ranks of each node
  std::vector<int> dealt_;                 // nodes so that neighbours differ in domain where they can
  std::vector<int> partner_;               // of each rank
  std::vector<std::vector<int>> copies_;
};

}  // namespace shakedown::checkpoint
