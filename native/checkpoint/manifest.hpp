// What is known of a file of a generation: who wrote it, what lies where in it, a checksum for each block. Bytes on
// disk are little endian whatever the machine; README.md has the fields in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytes.hpp"

namespace shakedown::checkpoint {

inline constexpr std::uint32_t kFormat = 1;
inline constexpr std::uint32_t kBlockBytes = 1U << 20;

using RunId = std::array<std::uint8_t, 16>;

enum class Kind : std::uint8_t { kRank = 1, kCopy = 2, kParity = 3 };
enum class ByteOrder : std::uint8_t { kLittle = 1, kBig = 2 };
ByteOrder own_byte_order();

/// A box of an array of all ranks. `global` empty: an array of one rank alone; no dimensions: one element, the same on
/// all ranks.
struct Box {
  std::vector<std::uint64_t> local;
  std::vector<std::uint64_t> global;
  std::vector<std::uint64_t> offset;
  bool operator==(const Box&) const = default;
};

struct Region {
  std::string name;
  int type = 0;
  Box box;
  std::uint64_t at = 0;  // where its elements begin in the data, in C order
  std::uint64_t bytes = 0;
};

struct Manifest {
  Kind kind = Kind::kRank;
  RunId run = {};
  // When the run was opened, since 1970 and the same on all ranks: by the clock of rank 0, and later than that of every
  // run of which it saw something. Of two runs one of which could not see the other's nodes, numbers do not say which
  // is the newer one.
  double run_began = 0;
  std::uint64_t generation = 0;
  int level = 0;  // that was asked of the checkpoint
  int rank = 0;   // whose data these are; of parity: the member of the group that holds it
  int ranks = 0;
  double unix_seconds = 0;
  ByteOrder byte_order = own_byte_order();
  std::uint64_t data_bytes = 0;
  // CRC-32C of each block of kBlockBytes, of which the last may be shorter; of parity: of each block that StripePlan
  // has
  std::vector<std::uint32_t> checksums;
  std::vector<Region> regions;  // of kRank and kCopy
  int losses = 0;               // of kParity: the code and the group, with the manifests of all members
  std::vector<int> members;
  std::vector<Bytes> member_manifests;
};

/// Blocks that so many bytes have.
std::uint64_t blocks_of(std::uint64_t bytes);
/// Bytes of block `index`.
std::uint64_t block_bytes(std::uint64_t data_bytes, std::uint64_t index);

Bytes encode_manifest(const Manifest& manifest);
/// Nothing where the bytes are not a whole manifest of this format; `why` then has the reason.
std::optional<Manifest> decode_manifest(std::span<const std::uint8_t> bytes, std::string& why);

/// The record that a generation is whole on all ranks.
struct Commit {
  RunId run = {};
  std::uint64_t generation = 0;
  int level = 0;
  int ranks = 0;
  double unix_seconds = 0;
};

Bytes encode_commit(const Commit& commit);
std::optional<Commit> decode_commit(std::span<const std::uint8_t> bytes, std::string& why);

/// Bytes of an element of a type of checkpoint.h; 0 for an unknown one.
std::uint64_t element_bytes(int type);
/// The product, or nothing where it does not fit into 63 bits.
std::optional<std::uint64_t> volume(const std::vector<std::uint64_t>& shape);

}  // namespace shakedown::checkpoint
