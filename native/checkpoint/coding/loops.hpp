// The loops of one instruction set: what a source that is named for one brings, and the choice among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shakedown::coding {

/// into[r] = sum over s of factors[r x sources + s] x from[s], in GF(2^8); with `add`, added to what into[r] holds.
struct Products {
  int sources;
  int rows;
  const std::uint8_t* factors;
  const std::uint8_t* const* from;
  std::uint8_t* const* into;
  std::size_t bytes;
  bool add;
};

struct FieldLoops {
  const char* name;
  void (*combine)(const Products&);
};

/// `state` is the CRC's register: the checksum with all its bits inverted.
struct ChecksumLoops {
  const char* name;
  std::uint32_t (*checksum)(std::uint32_t state, const std::uint8_t* from, std::size_t bytes);
  std::uint32_t (*copy)(std::uint32_t state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes);
};

/// Those that were built and that this machine runs, fastest first; "plain" is always the last.
std::span<const FieldLoops* const> field_loops();
std::span<const ChecksumLoops* const> checksum_loops();

}  // namespace shakedown::coding
