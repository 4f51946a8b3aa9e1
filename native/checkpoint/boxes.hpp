// Boxes of arrays: what two of them share, and how elements move between them. Row-major, last index fastest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "manifest.hpp"

namespace shakedown::checkpoint {

/// A part of the state as it lies in the application's memory.
struct Protected {
  std::string name;
  int type = 0;
  Box box;
  std::uint8_t* pointer = nullptr;
  std::vector<std::uint64_t> memory_shape;   // what was allocated; empty: the box itself
  std::vector<std::uint64_t> memory_offset;  // where the box begins in it
};

/// Why this cannot be protected, or "".
std::string why_not_protected(const Protected& part);

/// Bytes of the box.
std::uint64_t bytes_of(const Protected& part);

/// Calls for each run of bytes that lies together in memory, in C order of the box: pointer and length.
void for_each_run(const Protected& part, const std::function<void(std::uint8_t*, std::uint64_t)>& visit);

/// What two boxes of one array share: its first index and its shape; nothing where they share nothing.
struct Overlap {
  std::vector<std::uint64_t> offset;
  std::vector<std::uint64_t> shape;
};
std::optional<Overlap> overlap_of(const Box& a, const Box& b);

/// A run of elements that lies together in both: at so many elements from the begin of each box.
struct SharedRun {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t elements = 0;
};
/// Calls for each run of `shared` in the boxes that it came of.
void for_each_shared_run(const Box& from, const Box& to, const Overlap& shared,
                         const std::function<void(const SharedRun&)>& visit);

/// Whether these parts, each within `whole`, cover it. They may overlap.
bool covered(const Box& whole, const std::vector<Overlap>& parts);

}  // namespace shakedown::checkpoint
