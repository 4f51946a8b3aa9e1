// Random numbers of a link: a pure function of the seed, both ends and the number of the frame, so that the same frames
// are lost whatever thread or host handles them.
#pragma once

#include <array>
#include <cstdint>

namespace shakedown::radio_forwarder {

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Uniform on [0, 1), in steps of 2^-32, for the frame of that number from one node at another.
inline double draw(std::uint64_t seed, std::uint32_t from, std::uint32_t to, std::uint64_t frame) {
  const auto bits = philox({static_cast<std::uint32_t>(frame), static_cast<std::uint32_t>(frame >> 32), from, to},
                           {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return bits[0] * 0x1p-32;
}

}  // namespace shakedown::radio_forwarder
