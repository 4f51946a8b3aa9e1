// What is there to restart from: every file that any node or the shared folder holds, and from that, the same on all
// ranks, which generation can be had and at which level. Nothing else is believed: no pointer to a latest one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store.hpp"

namespace shakedown::checkpoint {

inline constexpr int kGlobalNode = -1;

/// A file somewhere.
struct Holding {
  int node = 0;  // kGlobalNode: the shared folder
  Kind kind = Kind::kRank;
  RunId run = {};
  double run_began = 0;
  std::uint64_t generation = 0;
  int rank = 0;
  int ranks = 0;
  std::uint64_t data_bytes = 0;
  double unix_seconds = 0;
  ByteOrder byte_order = ByteOrder::kLittle;
  int losses = 0;            // of parity
  std::vector<int> members;  // of parity
};

std::vector<Holding> holdings_of(const std::vector<Generation>& found, int node);
Bytes pack_holdings(const std::vector<Holding>& holdings);
/// Appends those of the bytes; what is not sound is left out.
void unpack_holdings(std::span<const std::uint8_t> bytes, std::vector<Holding>& into);

/// A generation of one run, with all that is left of it.
struct Candidate {
  std::uint64_t generation = 0;
  RunId run = {};
  int ranks = 0;
  int level = 0;        // the cheapest level that has everything; 0: no level has
  std::string why_not;  // where it is 0
  std::uint64_t bytes = 0;
  double unix_seconds = 0;
  std::vector<Holding> holdings;
};

/// Newest first: of the run that began last, of one run the highest number.
std::vector<Candidate> candidates_of(const std::vector<Holding>& holdings);

/// Nodes that hold this file.
std::vector<int> nodes_with(const Candidate& candidate, Kind kind, int rank);
/// The parity files of the group that a rank belongs to; empty where there are none.
std::vector<const Holding*> parity_of_group(const Candidate& candidate, int rank);
/// Whether a rank's data can be computed from those of its group.
bool rebuildable(const Candidate& candidate, int rank);

}  // namespace shakedown::checkpoint
