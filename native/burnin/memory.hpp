// Patterns through a piece of the host's memory of one's own, by one core.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "patterns.hpp"

namespace shakedown::burnin {

/// A word that did not read as it was written.
struct WrongWord {
  std::uint64_t offset_bytes = 0;
  std::uint64_t physical = 0;  // address, where the kernel tells it (root); 0: not known
  std::uint64_t expected = 0, found = 0;
  bool again = false;  // read once more it is wrong still: it lay wrong, and was not only read wrong
  bool hard = false;   // written once more it reads wrong again
};

class MemoryTest {
 public:
  static constexpr std::size_t kMostLocated = 16;
  static constexpr std::size_t kChunk = std::size_t{1} << 15;  // words of one step: 256 KiB
  enum class Drill { none, flip, flip_always };

  /// The words are the test's from now on.
  explicit MemoryTest(std::span<std::uint64_t> words) : words_(words), march_(words.size(), kChunk) {}

  /// The next piece of work, a fraction of a millisecond; what was wrong in it is in `wrong()` until the next call.
  void step();
  [[nodiscard]] const std::vector<WrongWord>& wrong() const { return wrong_; }  // at most kMostLocated
  [[nodiscard]] std::int64_t wrong_words() const { return wrong_words_; }       // of the last step, all of them
  [[nodiscard]] const March& march() const { return march_; }
  void drill(Drill kind) { drill_ = kind; }

 private:
  void locate(std::size_t index, std::uint64_t expected);
  void apply_drill(const Piece& piece);

  std::span<std::uint64_t> words_;
  March march_;
  std::vector<WrongWord> wrong_;
  std::int64_t wrong_words_ = 0;
  Drill drill_ = Drill::none;
  std::size_t stuck_ = SIZE_MAX;  // of a drill: this word keeps a wrong bit
};

/// The physical address of what a virtual one maps to; 0 where the kernel does not tell.
std::uint64_t physical_address(const void* address);

}  // namespace shakedown::burnin
