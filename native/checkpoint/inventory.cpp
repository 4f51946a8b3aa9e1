#include "inventory.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "include/shakedown/checkpoint.h"
#include "stripes.hpp"

namespace shakedown::checkpoint {
namespace {

bool has_state(const Candidate& candidate, int rank) {
  return std::any_of(candidate.holdings.begin(), candidate.holdings.end(),
                     [&](const Holding& holding) { return holding.rank == rank && holding.kind != Kind::kParity; });
}

/// The cheapest level that has this rank's state, or 0.
int level_for(const Candidate& candidate, int rank) {
  const auto own = nodes_with(candidate, Kind::kRank, rank);
  if (std::any_of(own.begin(), own.end(), [](int node) { return node != kGlobalNode; })) return SHAKEDOWN_CKPT_LOCAL;
  if (!nodes_with(candidate, Kind::kCopy, rank).empty()) return SHAKEDOWN_CKPT_PARTNER;
  if (rebuildable(candidate, rank)) return SHAKEDOWN_CKPT_GROUP;
  return own.empty() ? 0 : SHAKEDOWN_CKPT_GLOBAL;
}

void judge(Candidate& candidate) {
  std::string missing;
  int count = 0;
  constexpr int kMostNamed = 8;
  for (int rank = 0; rank < candidate.ranks; ++rank) {
    const int level = level_for(candidate, rank);
    candidate.level = std::max(candidate.level, level);
    if (level == 0 && count++ < kMostNamed) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  }
  const bool foreign = std::any_of(candidate.holdings.begin(), candidate.holdings.end(),
                                   [](const Holding& holding) { return holding.byte_order != own_byte_order(); });
  if (count > 0) candidate.why_not = "no level has the state of rank " + missing + (count > kMostNamed ? ", ..." : "");
  if (count > 0) candidate.why_not += " (of " + std::to_string(candidate.ranks) + ")";
  if (foreign) candidate.why_not = "it was written on a machine of the other byte order";
  if (!candidate.why_not.empty()) candidate.level = 0;
}

}  // namespace

std::vector<Holding> holdings_of(const std::vector<Generation>& found, int node) {
  std::vector<Holding> holdings;
  for (const Generation& generation : found) {
    for (const Part& part : generation.parts) {
      const Manifest& manifest = part.manifest;
      holdings.push_back({node, manifest.kind, manifest.run, manifest.run_began, manifest.generation, manifest.rank,
                          manifest.ranks, manifest.data_bytes, manifest.unix_seconds, manifest.byte_order,
                          manifest.losses, manifest.members});
    }
  }
  return holdings;
}

Bytes pack_holdings(const std::vector<Holding>& holdings) {
  Packer packer;
  packer.u64(holdings.size());
  for (const Holding& holding : holdings) {
    packer.u32(static_cast<std::uint32_t>(holding.node + 1));  // the shared folder is -1
    packer.u8(static_cast<std::uint8_t>(holding.kind));
    packer.raw(holding.run);
    packer.real(holding.run_began);
    packer.u64(holding.generation);
    packer.u32(static_cast<std::uint32_t>(holding.rank));
    packer.u32(static_cast<std::uint32_t>(holding.ranks));
    packer.u64(holding.data_bytes);
    packer.real(holding.unix_seconds);
    packer.u8(static_cast<std::uint8_t>(holding.byte_order));
    packer.u32(static_cast<std::uint32_t>(holding.losses));
    packer.u64(holding.members.size());
    for (const int member : holding.members) packer.u32(static_cast<std::uint32_t>(member));
  }
  return packer.take();
}

void unpack_holdings(std::span<const std::uint8_t> bytes, std::vector<Holding>& into) {
  Unpacker from(bytes);
  const std::size_t count = from.count(1);
  for (std::size_t at = 0; at < count; ++at) {
    Holding holding;
    holding.node = from.number() - 1;
    holding.kind = static_cast<Kind>(from.u8());
    from.raw(holding.run);
    holding.run_began = from.real();
    holding.generation = from.u64();
    holding.rank = from.number();
    holding.ranks = from.number();
    holding.data_bytes = from.u64();
    holding.unix_seconds = from.real();
    holding.byte_order = static_cast<ByteOrder>(from.u8());
    holding.losses = from.number();
    holding.members.resize(from.count(4));
    for (int& member : holding.members) member = from.number();
    if (!from.sound() || !(holding.run_began >= 0)) return;
    into.push_back(std::move(holding));
  }
}

std::vector<Candidate> candidates_of(const std::vector<Holding>& holdings) {
  std::map<std::tuple<double, std::uint64_t, RunId>, Candidate> found;
  for (const Holding& holding : holdings) {
    Candidate& candidate = found[{holding.run_began, holding.generation, holding.run}];
    candidate.generation = holding.generation;
    candidate.run = holding.run;
    candidate.ranks = std::max(candidate.ranks, holding.ranks);
    candidate.holdings.push_back(holding);
  }
  std::vector<Candidate> newest_first;
  for (auto at = found.rbegin(); at != found.rend(); ++at) {
    Candidate& candidate = at->second;
    std::vector<bool> counted(static_cast<std::size_t>(candidate.ranks), false);
    for (const Holding& holding : candidate.holdings) {
      if (holding.kind == Kind::kParity || counted[static_cast<std::size_t>(holding.rank)]) continue;
      counted[static_cast<std::size_t>(holding.rank)] = true;
      candidate.bytes += holding.data_bytes;
      if (holding.rank == 0) candidate.unix_seconds = holding.unix_seconds;
    }
    judge(candidate);
    newest_first.push_back(std::move(candidate));
  }
  return newest_first;
}

std::vector<int> nodes_with(const Candidate& candidate, Kind kind, int rank) {
  std::vector<int> nodes;
  for (const Holding& holding : candidate.holdings) {
    if (holding.kind == kind && holding.rank == rank) nodes.push_back(holding.node);
  }
  return nodes;
}

std::vector<const Holding*> parity_of_group(const Candidate& candidate, int rank) {
  std::vector<const Holding*> group;
  for (const Holding& holding : candidate.holdings) {
    if (holding.kind != Kind::kParity) continue;
    if (std::find(holding.members.begin(), holding.members.end(), rank) != holding.members.end())
      group.push_back(&holding);
  }
  return group;
}

bool rebuildable(const Candidate& candidate, int rank) {
  const auto group = parity_of_group(candidate, rank);
  if (group.empty()) return false;
  const std::vector<int>& members = group.front()->members;
  std::vector<bool> has_parity(members.size(), false);
  std::vector<bool> has_data(members.size(), false);
  for (std::size_t at = 0; at < members.size(); ++at) {
    has_data[at] = has_state(candidate, members[at]);
    has_parity[at] =
        std::any_of(group.begin(), group.end(), [&](const Holding* one) { return one->rank == members[at]; });
  }
  // One period of the layout stands for all.
  const StripePlan plan(std::vector<std::uint64_t>(members.size(), 1), group.front()->losses);
  for (std::uint64_t stripe = 0; stripe < plan.stripes(); ++stripe) {
    int blocks = 0;
    for (int member = 0; member < plan.members(); ++member) {
      const bool data = plan.block_of(stripe, member) < plan.data_blocks();
      blocks += (data ? has_data : has_parity)[static_cast<std::size_t>(member)] ? 1 : 0;
    }
    if (blocks < plan.data_blocks()) return false;
  }
  return true;
}

}  // namespace shakedown::checkpoint
