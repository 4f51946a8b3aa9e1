// The chain of loads that the program measures: see README.md for the model.
#pragma once

#include <cstdint>

#include "common/memory.hpp"

namespace shakedown::latency {

/// The first bytes of each line of the buffer.
struct Link {
  const Link* next;
  std::uint64_t place;  // in the order of the chain, from 0
};

/// A buffer whose lines of `line_bytes` are one closed chain in random order.
class Chain {
 public:
  /// Writes the chain from the calling thread. Throws where there is no memory, and where `bytes` are fewer than two
  /// lines.
  Chain(std::size_t bytes, std::size_t line_bytes, Pages pages, const Placement& placement);

  [[nodiscard]] std::uint64_t links() const { return links_; }
  [[nodiscard]] const Buffer& buffer() const { return buffer_; }
  /// Where the chain begins: place 0.
  [[nodiscard]] const Link* first() const { return &at(0); }
  /// Link by its line in memory, to be spoilt by a test.
  [[nodiscard]] Link& at(std::uint64_t line) const;

 private:
  Buffer buffer_;
  std::size_t line_bytes_;
  std::uint64_t links_;
};

/// How many loads follow() does at once.
inline constexpr std::uint64_t kUnrolled = 64;

/// `loads` loads (a multiple of kUnrolled), each of which needs the result of the one before; where they end.
const Link* follow(const Link* from, std::uint64_t loads);

/// By how many places the end of `loads` loads from place 0 is wrong: 0.
double defect(const Link* end, std::uint64_t loads, std::uint64_t links);

}  // namespace shakedown::latency
