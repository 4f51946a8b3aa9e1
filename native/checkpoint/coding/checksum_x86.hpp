// CRC-32C by the processor's own instruction, and the copy that goes with it, once for SSE and AVX. Everything here has
// internal linkage, as in field_loops.hpp.
//
// The instruction takes three cycles and one can begin in each: three lanes, one behind the other in memory, are walked
// at once and joined by a multiplication without carries (Gopal et al., "Fast CRC computation for iSCSI polynomial
// using CRC32 instruction", 2011).
#pragma once

#include <nmmintrin.h>
#include <wmmintrin.h>

#include <cstddef>
#include <cstring>

#include "checksum.hpp"
#include "loops.hpp"
#include "tiles.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline

namespace shakedown::coding {
namespace {

inline constexpr std::size_t kLine = 64;

SHAKEDOWN_INLINE std::uint64_t word_at(const std::uint8_t* from) {
  std::uint64_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return word;
}

/// What multiplies a register as `bytes` of zeros do, by clmul and then the CRC instruction: clmul gives a x b x x, the
/// instruction multiplies by x^32.
template <std::size_t bytes>
inline constexpr std::uint32_t kBehind = checksum_power(8 * bytes - 33);

/// The state after three lanes of so many bytes; the first began with the state before, the others with 0.
template <std::size_t lane>
SHAKEDOWN_INLINE std::uint64_t join(std::uint64_t first, std::uint64_t second, std::uint64_t third) {
  const auto product = [](std::uint64_t a, std::uint32_t b) {
    return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)), _mm_cvtsi32_si128(static_cast<int>(b)),
                                0);
  };
  const __m128i sum = _mm_xor_si128(product(first, kBehind<2 * lane>), product(second, kBehind<lane>));
  return _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum))) ^ third;
}

/// Three lanes; `visit` is called once for each of their lines.
template <std::size_t lane, class Visit>
SHAKEDOWN_INLINE std::uint64_t three_lanes(std::uint64_t state, const std::uint8_t* from, Visit visit) {
  std::uint64_t second = 0, third = 0;
  for (std::size_t at = 0; at < lane; at += kLine) {
    visit();
    visit();
    visit();
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLine; i += 8) {
      state = _mm_crc32_u64(state, word_at(from + at + i));
      second = _mm_crc32_u64(second, word_at(from + at + lane + i));
      third = _mm_crc32_u64(third, word_at(from + at + 2 * lane + i));
    }
  }
  return join<lane>(state, second, third);
}

SHAKEDOWN_INLINE std::uint64_t one_lane(std::uint64_t state, const std::uint8_t* from, std::size_t bytes) {
  for (; bytes >= 8; from += 8, bytes -= 8) state = _mm_crc32_u64(state, word_at(from));
  for (; bytes != 0; ++from, --bytes) state = _mm_crc32_u8(static_cast<std::uint32_t>(state), *from);
  return state;
}

std::uint32_t checksum(std::uint32_t before, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t kLong = 4096, kShort = 256;
  const auto nothing = [] {};
  std::uint64_t state = before;
  for (; bytes >= 3 * kLong; from += 3 * kLong, bytes -= 3 * kLong) state = three_lanes<kLong>(state, from, nothing);
  for (; bytes >= 3 * kShort; from += 3 * kShort, bytes -= 3 * kShort)
    state = three_lanes<kShort>(state, from, nothing);
  return static_cast<std::uint32_t>(one_lane(state, from, bytes));
}

inline constexpr std::size_t kLarge = std::size_t{16} << 10;  // a copy of less is rather wanted in the cache

/// V::stream_line copies a line past the caches, to an aligned place. Tile by tile: while the lanes of one are walked,
/// the one before, now in the first-level cache, is written and memory is asked for what comes next, both in order of
/// addresses. So neither waits for the other; README.md has the measurements.
template <class V>
std::uint32_t copy(std::uint32_t before, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t kLane = 704, kTile = 3 * kLane, kAhead = 4096;
  std::uint64_t state = before;
  if (bytes >= kLarge) {
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kLine;
    state = one_lane(state, from, head);
    std::memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    state = three_lanes<kLane>(state, from, [] {});
    for (; bytes >= 2 * kTile; to += kTile, from += kTile, bytes -= kTile) {
      std::size_t at = 0;
      state = three_lanes<kLane>(state, from + kTile, [&] {
        __builtin_prefetch(from + kTile + kAhead + at);  // past the end too: a prefetch never faults
        V::stream_line(to + at, from + at);
        at += kLine;
      });
    }
    for (std::size_t at = 0; at < kTile; at += kLine) V::stream_line(to + at, from + at);
    to += kTile, from += kTile, bytes -= kTile;
    _mm_sfence();
  }
  return copy_by_tiles<std::size_t{4} << 10>(checksum, static_cast<std::uint32_t>(state), to, from, bytes);
}

}  // namespace
}  // namespace shakedown::coding
