#include "memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace shakedown::burnin {
namespace {

/// Call `use` with a function from a place to its word; the kind is a constant in it, so that loops become vectors.
template <class Use>
void with_words(const Pattern& pattern, Use&& use) {
  const std::uint64_t key = pattern.key;
  switch (pattern.kind) {
    case Kind::addressed:
      return use([key](std::size_t i) { return pattern_word(Kind::addressed, key, i); });
    case Kind::walking:
      return use([key](std::size_t i) { return pattern_word(Kind::walking, key, i); });
    default:
      return use([key](std::size_t i) { return pattern_word(Kind::solid, key, i); });
  }
}

/// Out of the caches, so that the next reading comes from memory.
void flush(const void* address) {
#if defined(__x86_64__)
  _mm_mfence();
  _mm_clflush(address);
  _mm_mfence();
#elif defined(__aarch64__)
  asm volatile("dc civac, %0\n dsb ish" ::"r"(address) : "memory");
#else
  (void)address;
#endif
}

}  // namespace

void MemoryTest::apply_drill(const Piece& piece) {
  constexpr std::uint64_t kBit = std::uint64_t{1} << 42;
  if (drill_ == Drill::none || !piece.reads) return;
  if (stuck_ == SIZE_MAX) {
    stuck_ = piece.begin + (piece.end - piece.begin) / 3;
    words_[stuck_] ^= kBit;
  } else if (drill_ == Drill::flip_always && stuck_ >= piece.begin && stuck_ < piece.end) {
    words_[stuck_] ^= kBit;
  }
}

void MemoryTest::step() {
  wrong_.clear();
  wrong_words_ = 0;
  const Piece piece = march_.piece();
  apply_drill(piece);
  with_words(piece.pattern, [&](auto word) {
    if (piece.reads) {  // all of it before anything is overwritten, so that what is wrong can be looked at
      std::uint64_t wrong = 0;
      for (std::size_t i = piece.begin; i < piece.end; ++i) wrong += words_[i] != (word(i) ^ piece.invert);
      wrong_words_ = static_cast<std::int64_t>(wrong);
      for (std::size_t i = piece.begin; wrong > 0 && i < piece.end && wrong_.size() < kMostLocated; ++i) {
        if (words_[i] != (word(i) ^ piece.invert)) locate(i, word(i) ^ piece.invert);
      }
    }
    if (piece.writes) {
      for (std::size_t i = piece.begin; i < piece.end; ++i) words_[i] = word(i) ^ piece.next;
    }
  });
  march_.advance();
}

void MemoryTest::locate(std::size_t index, std::uint64_t expected) {
  volatile std::uint64_t& word = words_[index];
  const void* const address = const_cast<const std::uint64_t*>(&word);
  WrongWord one;
  one.offset_bytes = index * sizeof(std::uint64_t);
  one.expected = expected;
  one.found = word;
  one.physical = physical_address(address);
  flush(address);
  one.again = word != expected;
  word = expected;
  if (drill_ == Drill::flip_always && index == stuck_) word = one.found;
  flush(address);
  one.hard = word != expected;
  wrong_.push_back(one);
}

std::uint64_t physical_address(const void* address) {
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uint64_t>(address);
  std::uint64_t entry = 0;
  const auto got = pread(file, &entry, sizeof entry, static_cast<off_t>(at / page * sizeof entry));
  close(file);
  const std::uint64_t frame = entry & ((std::uint64_t{1} << 55) - 1);  // 0 for whoever may not know
  const bool present = got == sizeof entry && (entry >> 63) != 0;
  return present && frame != 0 ? frame * page + at % page : 0;
}

}  // namespace shakedown::burnin
