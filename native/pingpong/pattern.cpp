// The content of messages. Pure.
#include "pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace shakedown::pingpong {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input reaches every bit of the output.
constexpr std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

constexpr std::uint64_t word_at(std::uint64_t seed, std::uint64_t index) { return mix(seed + kGolden * (index + 1)); }

void write_words(std::span<std::uint8_t> data, std::uint64_t seed, std::uint64_t flip) {
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::uint64_t word = word_at(seed, at / 8) ^ flip;
    std::memcpy(data.data() + at, &word, std::min<std::size_t>(8, data.size() - at));
  }
}

}  // namespace

std::uint64_t seed_of(const MessageId& id) {
  std::uint64_t seed = static_cast<std::uint64_t>(id.kernel);
  for (const std::uint64_t part : {id.bytes, static_cast<std::uint64_t>(id.sample), static_cast<std::uint64_t>(id.slot),
                                   std::uint64_t{id.from_leader}, static_cast<std::uint64_t>(id.sender)}) {
    seed = mix(seed * kGolden + part + 1);
  }
  return seed;
}

void fill(std::span<std::uint8_t> data, std::uint64_t seed) { write_words(data, seed, 0); }

void fill_wrong(std::span<std::uint8_t> data, std::uint64_t seed) { write_words(data, seed, ~std::uint64_t{0}); }

std::int64_t count_wrong(std::span<const std::uint8_t> data, std::uint64_t seed) {
  std::int64_t wrong = 0;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::size_t length = std::min<std::size_t>(8, data.size() - at);
    std::uint64_t got = 0, word = word_at(seed, at / 8), expected = 0;
    std::memcpy(&got, data.data() + at, length);
    std::memcpy(&expected, &word, length);
    if (got == expected) continue;
    for (std::uint64_t difference = got ^ expected; difference != 0; difference >>= 8) wrong += (difference & 255) != 0;
  }
  return wrong;
}

}  // namespace shakedown::pingpong
