// CRC-32C in plain C++: eight bytes at a time by tables ("slicing by 8", Kounavis and Berry 2005).
#include "checksum.hpp"
#include "loops.hpp"
#include "tiles.hpp"

namespace shakedown::coding {
namespace {

struct Tables {
  std::uint32_t after[8][256];  // what a byte does to the register, with 0 to 7 bytes of zeros behind it
};

constexpr Tables tables() {
  Tables out{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (auto& after : out.after) {
      for (int bit = 0; bit < 8; ++bit) state = (state >> 1U) ^ ((state & 1U) != 0 ? kCastagnoli : 0U);
      after[byte] = state;
    }
  }
  return out;
}

constinit const Tables kTables = tables();

std::uint64_t low_byte_first(const std::uint8_t* from) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) word |= std::uint64_t{from[i]} << (8 * i);
  return word;
}

std::uint32_t checksum(std::uint32_t state, const std::uint8_t* from, std::size_t bytes) {
  for (; bytes >= 8; from += 8, bytes -= 8) {
    const std::uint64_t word = low_byte_first(from) ^ state;
    state = 0;
    for (unsigned i = 0; i < 8; ++i) state ^= kTables.after[7 - i][(word >> (8 * i)) & 0xffU];
  }
  for (; bytes != 0; ++from, --bytes) state = (state >> 8U) ^ kTables.after[0][(state ^ *from) & 0xffU];
  return state;
}

std::uint32_t copy(std::uint32_t state, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  return copy_by_tiles<std::size_t{4} << 10>(checksum, state, to, from, bytes);
}

}  // namespace

extern const ChecksumLoops kChecksumPlain;
const ChecksumLoops kChecksumPlain = {"plain", checksum, copy};
}  // namespace shakedown::coding
