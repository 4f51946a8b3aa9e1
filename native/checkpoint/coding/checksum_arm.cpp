// CRC-32C with ARM's own instruction. It takes two or three cycles: three lanes at once, joined by arithmetic.
#include <arm_acle.h>

#include <cstring>

#include "checksum.hpp"
#include "loops.hpp"
#include "tiles.hpp"

namespace shakedown::coding {
namespace {

constexpr std::size_t kLane = 4096;
constexpr std::uint32_t kBehindOne = checksum_power(8 * kLane), kBehindTwo = checksum_power(16 * kLane);

std::uint64_t word_at(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::uint32_t checksum(std::uint32_t state, const std::uint8_t* from, std::size_t bytes) {
  for (; bytes >= 3 * kLane; from += 3 * kLane, bytes -= 3 * kLane) {
    std::uint32_t second = 0, third = 0;
    for (std::size_t at = 0; at < kLane; at += 8) {
      state = __crc32cd(state, word_at(from + at));
      second = __crc32cd(second, word_at(from + at + kLane));
      third = __crc32cd(third, word_at(from + at + 2 * kLane));
    }
    state = checksum_product(state, kBehindTwo) ^ checksum_product(second, kBehindOne) ^ third;
  }
  for (; bytes >= 8; from += 8, bytes -= 8) state = __crc32cd(state, word_at(from));
  for (; bytes != 0; ++from, --bytes) state = __crc32cb(state, *from);
  return state;
}

std::uint32_t copy(std::uint32_t state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  return copy_by_tiles<3 * kLane>(checksum, state, to, from, bytes);
}

}  // namespace

extern const ChecksumLoops kChecksumArm;
const ChecksumLoops kChecksumArm = {"armv8-crc", checksum, copy};
}  // namespace shakedown::coding
