// What is timed: plain calls of OpenSHMEM, and nothing else.
#pragma once

#include <cstdint>
#include <span>

#include "words.hpp"

namespace shakedown::shmem {

/// A shape as the origin calls it. The window is the target's; all three have a place for each operation of a round.
struct Call {
  Shape shape;
  int target = 0;
  std::uint8_t* window = nullptr;
  std::uint8_t* out = nullptr;
  std::uint8_t* in = nullptr;
  std::span<const Word> initial;  // of each word of an atomic operation
  Word done = 0;                  // rounds before these
};

/// So many rounds.
void operate(Call& call, std::int64_t rounds);

/// One atomic operation on the first word, with the value that it leaves and the one that it should find; what it
/// fetched.
Word operate_once(const Call& call, Word leaves, Word finds);

}  // namespace shakedown::shmem
