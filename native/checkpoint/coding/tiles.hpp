// The copy that goes with a checksum where nothing better is at hand. Internal linkage, as in field_loops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shakedown::coding {
namespace {

/// Tile by tile, each still in the first-level cache when it is copied.
template <std::size_t tile>
std::uint32_t copy_by_tiles(std::uint32_t (*checksum)(std::uint32_t, const std::uint8_t*, std::size_t),
                            std::uint32_t state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += tile) {
    const std::size_t part = bytes - at < tile ? bytes - at : tile;
    state = checksum(state, from + at, part);
    std::memcpy(to + at, from + at, part);
  }
  return state;
}

}  // namespace
}  // namespace shakedown::coding
