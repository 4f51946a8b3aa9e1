#include "topology.hpp"

#include <algorithm>
#include <map>

namespace shakedown::checkpoint {

Topology::Topology(std::vector<Place> places) : places_(std::move(places)) {
  std::map<std::string, int> numbers;
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    const auto [at, fresh] = numbers.try_emplace(places_[rank].node, static_cast<int>(on_node_.size()));
    if (fresh) on_node_.emplace_back();
    node_.push_back(at->second);
    on_node_[static_cast<std::size_t>(at->second)].push_back(static_cast<int>(rank));
  }
  // One node of each domain in turn.
  std::map<std::string, std::vector<int>> by_domain;
  for (int node = 0; node < nodes(); ++node) {
    by_domain[places_[static_cast<std::size_t>(on_node(node).front())].domain].push_back(node);
  }
  for (std::size_t round = 0; dealt_.size() < on_node_.size(); ++round) {
    for (const auto& [domain, members] : by_domain) {
      if (round < members.size()) dealt_.push_back(members[round]);
    }
  }
  partner_.assign(places_.size(), -1);
  copies_.resize(places_.size());
  for (std::size_t at = 0; at < dealt_.size(); ++at) {
    for (const int rank : on_node(dealt_[at])) partner_[static_cast<std::size_t>(rank)] = found_partner(rank, at);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    if (partner_of(rank) >= 0) copies_[static_cast<std::size_t>(partner_of(rank))].push_back(rank);
  }
}

const std::string& Topology::name_of_node(int node) const {
  return places_[static_cast<std::size_t>(on_node(node).front())].node;
}

int Topology::slot_of(int rank) const {
  const std::vector<int>& ranks = on_node(node_of(rank));
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

int Topology::found_partner(int rank, std::size_t dealt_at) const {
  for (std::size_t step = 1; step < dealt_.size(); ++step) {
    const std::vector<int>& there = on_node(dealt_[(dealt_at + step) % dealt_.size()]);
    if (places_[static_cast<std::size_t>(there.front())].domain == places_[static_cast<std::size_t>(rank)].domain)
      continue;
    return there[static_cast<std::size_t>(slot_of(rank)) % there.size()];
  }
  return -1;
}

Group Topology::group_of(int rank, int size, int losses) const {
  const int slot = slot_of(rank);
  std::vector<int> row;
  for (const int node : dealt_) {
    if (static_cast<int>(on_node(node).size()) > slot) row.push_back(on_node(node)[static_cast<std::size_t>(slot)]);
  }
  const int count = static_cast<int>(row.size());
  const int groups = std::max(1, count / std::max(1, size));
  const int place = static_cast<int>(std::find(row.begin(), row.end(), rank) - row.begin());
  const int mine = std::min(place / std::max(1, size), groups - 1);
  const int begin = mine * size, end = mine == groups - 1 ? count : begin + size;
  Group group;
  group.members.assign(row.begin() + begin, row.begin() + end);
  // A small machine: fewer losses, at least one; two nodes are each other's mirror.
  group.losses = std::min(losses, static_cast<int>(group.members.size()) / 2);
  std::map<std::string, int> in_domain;
  int most = 0;
  for (const int member : group.members)
    most = std::max(most, ++in_domain[places_[static_cast<std::size_t>(member)].domain]);
  if (group.losses < 1 || most > group.losses) return {};
  return group;
}

}  // namespace shakedown::checkpoint
