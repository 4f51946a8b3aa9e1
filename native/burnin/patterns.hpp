// What memory patterns write where, and in which order they go through memory: the same on cores and on GPUs. Included
// by kernels too, so it stays plain C++17.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/formats.hpp"

namespace shakedown::burnin {

enum class Kind : unsigned { addressed, walking, solid };

/// The word of a pattern at a place. `key` is the word itself of a solid pattern; of the others it changes with the
/// pass.
SHAKEDOWN_BOTH std::uint64_t pattern_word(Kind kind, std::uint64_t key, std::uint64_t index) {
  if (kind == Kind::solid) return key;
  if (kind == Kind::walking) {  // one bit among 64, in the next place at the next word and at the next pass
    const unsigned at = static_cast<unsigned>((index + key) & 63);
    return std::uint64_t{1} << at;
  }
  // Another word at every place (the factor is odd): one that lands elsewhere is seen.
  const std::uint64_t x = (index ^ key) * 0x9e3779b97f4a7c15;
  return x ^ (x >> 32);
}

struct Pattern {
  Kind kind;
  std::uint64_t key;
  const char* name;
};
constexpr int kPatterns = 6;

/// The pattern of a pass; passes go through all of them in turn.
inline Pattern pattern_of(std::int64_t pass) {
  const auto round = static_cast<std::uint64_t>(pass / kPatterns);
  switch (pass % kPatterns) {
    case 0:
      return {Kind::addressed, (round + 1) * 0xd1342543de82ef95, "random by address"};
    case 1:
      return {Kind::solid, 0, "solid"};
    case 2:
      return {Kind::walking, round, "walking ones"};
    case 3:
      return {Kind::solid, 0x5555555555555555, "checkerboard"};
    case 4:
      return {Kind::solid, 0x3333333333333333, "pairs"};
    default:
      return {Kind::solid, 0x00ff00ff00ff00ff, "bytes"};
  }
}

/// A piece of a march: words [begin, end) must be the pattern's ^ invert (where `reads`), and become it ^ next (where
/// `writes`).
struct Piece {
  Pattern pattern;
  std::size_t begin, end;
  bool reads, writes;
  std::uint64_t invert, next;
  [[nodiscard]] double bytes() const {
    return static_cast<double>((end - begin) * sizeof(std::uint64_t)) * ((reads ? 1 : 0) + (writes ? 1 : 0));
  }
};

/// Moving inversions: write; read and invert upwards; read and invert downwards; read. In pieces of at most `chunk`
/// words, so that a pass can stop at any time and go on later. (March tests: van de Goor, Testing Semiconductor
/// Memories, 1991.)
class March {
 public:
  March(std::size_t words, std::size_t chunk) : words_(words), chunk_(chunk) {}

  [[nodiscard]] Piece piece() const {
    const std::size_t left = words_ - done_, count = left < chunk_ ? left : chunk_;
    const std::size_t begin = part_ == 2 ? left - count : done_;
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    return {pattern_of(pass_),    begin, begin + count, part_ != 0, part_ != 3, part_ == 2 ? kAll : 0,
            part_ == 1 ? kAll : 0};
  }
  void advance() {
    const Piece done = piece();
    bytes_ += done.bytes();
    done_ += done.end - done.begin;
    if (done_ < words_) return;
    done_ = 0;
    part_ = (part_ + 1) % 4;
    if (part_ == 0) ++pass_;
  }
  [[nodiscard]] std::int64_t passes() const { return pass_; }  // whole ones, each with one pattern
  [[nodiscard]] double bytes() const { return bytes_; }        // read and written

 private:
  std::size_t words_, chunk_, done_ = 0;
  int part_ = 0;
  std::int64_t pass_ = 0;
  double bytes_ = 0;
};

}  // namespace shakedown::burnin
