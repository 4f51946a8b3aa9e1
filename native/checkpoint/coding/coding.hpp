// What keeps a checkpoint whole: a checksum of each block, made while the block is staged, and Reed-Solomon parity
// across a group of nodes.
//
// Every function is pure, starts no thread, keeps no state, allocates nothing but where it says so and does not throw;
// blocks may lie at any address, and `bytes` may be 0. Blocks of one call do not overlap. The instruction set is chosen
// once, at the first call; each gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shakedown::coding {

// ----------------------------------------------------------------------------------------------------------- checksums

/// CRC-32C (Castagnoli, polynomial 0x1edc6f41, RFC 3720 section 12.1) of a block; `before` is that of what comes before
/// it, 0 at the start.
std::uint32_t crc32c(const void* from, std::size_t bytes, std::uint32_t before = 0) noexcept;

/// Copy a block and give its CRC-32C in the same pass: `from` is read once. Large blocks go past the caches, so what
/// was staged does not displace the data of the application; another thread may read `to` when this has returned.
std::uint32_t copy_crc32c(void* to, const void* from, std::size_t bytes, std::uint32_t before = 0) noexcept;

/// CRC-32C of two blocks one after the other, from that of each.
std::uint32_t join_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) noexcept;

// -------------------------------------------------------------------------------------------------------- Reed-Solomon

/// The field GF(2^8) has the polynomial x^8 + x^4 + x^3 + x^2 + 1. What is stored of a code is k, m, this and the word
/// "cauchy": never tables.
inline constexpr unsigned kFieldPolynomial = 0x11d;
inline constexpr int kMostBlocks = 256;  // k + m

/// k >= 1 data blocks and m >= 0 parity blocks that a code can have: k + m <= kMostBlocks.
bool valid_code(int k, int m) noexcept;

/// The factor of data block `data` (0 to k - 1) in parity block `parity` (0 to m - 1): 1 / ((k + parity) xor data), a
/// Cauchy matrix, each column divided by its first entry. Row 0 is therefore all ones: m = 1 is XOR parity, and the
/// first parity block of every code is the XOR of the data.
std::uint8_t coefficient(int k, int parity, int data) noexcept;

/// Make the parity blocks of `data`. False, and nothing written, where the code is not valid.
bool encode(int k, int m, const std::uint8_t* const* data, std::uint8_t* const* parity, std::size_t bytes) noexcept;

/// into ^= factor x from: what a parity block gains from one arriving data block, where factor = coefficient(k, parity,
/// data). From a block of zeros, adding every data block in any order gives what encode() gives.
void multiply_add(std::uint8_t factor, const std::uint8_t* from, std::uint8_t* into, std::size_t bytes) noexcept;

/// The same of several blocks that arrived, for several parity blocks at once: into[r] ^= sum over s of factors[r x
/// from.size() + s] x from[s].
void multiply_add(std::span<const std::uint8_t> factors, std::span<const std::uint8_t* const> from,
                  std::span<std::uint8_t* const> into, std::size_t bytes) noexcept;

/// The factors with which `wanted` is the sum of the blocks `from`: k different ones that are left. Blocks are numbered
/// data first: 0 to k - 1, then parity k to k + m - 1. Adding each by multiply_add rebuilds a block as its parts
/// arrive. Allocates. Empty where code or numbers are not valid.
std::vector<std::uint8_t> rebuilding_factors(int k, int m, std::span<const int> from, int wanted);

/// Rebuild the blocks `lost`, data and parity, from the others: blocks[0 to k - 1] are the data, then the parity. All
/// that are not lost must be there. False, and nothing written, where more than m are lost or a number is not valid or
/// named twice. Allocates.
bool reconstruct(int k, int m, std::span<const int> lost, std::uint8_t* const* blocks, std::size_t bytes);

// ------------------------------------------------------------------------------------- the rotated layout of one group

/// A group of g nodes of which any m may be lost has g stripes of k = g - m data blocks and m parity blocks. Each node
/// holds one block of each stripe: parity in m of them, data in k. A node's data are cut into k segments; parity is so
/// spread evenly, m / k of the data a node, and each node computes m of the g x m parity blocks.
struct StripeBlock {
  int stripe;
  int block;  // in the numbering of reconstruct(): data 0 to k - 1, parity k to g - 1
};

/// Which block of `stripe` the node holds.
int block_of_node(int nodes, int m, int stripe, int node) noexcept;
/// Which node holds that block of `stripe`.
int node_of_block(int nodes, int m, int stripe, int block) noexcept;
/// Where segment 0 to k - 1 of the node's data is.
StripeBlock segment_of_node(int nodes, int m, int node, int segment) noexcept;

// ---------------------------------------------------------------------------------------------------- what runs it
// here

/// The instruction sets in use: "avx2" for instance. For the log of a run.
std::string checksum_isa();
std::string field_isa();

}  // namespace shakedown::coding
