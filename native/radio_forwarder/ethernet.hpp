// Frames: to whom one is addressed. Ethernet addresses follow from the ids of nodes, so that nothing has to be learnt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shakedown::radio_forwarder {

inline constexpr std::size_t kHeadBytes = 14;       // both addresses and the type
inline constexpr std::uint32_t kMostNodes = 65534;  // ids 1 to 65534, as EMANE has them

using Mac = std::array<std::uint8_t, 6>;

/// The address of a node: locally administered (bit 1 of the first byte), the id in the last two bytes.
inline Mac mac_of(std::uint32_t node) {
  return {0x02, 0x52, 0x46, 0, static_cast<std::uint8_t>(node >> 8), static_cast<std::uint8_t>(node)};
}

/// The node that owns an address; 0: none of ours.
inline std::uint32_t node_of(const std::uint8_t* mac) {
  const Mac ours = mac_of(0);
  if (std::memcmp(mac, ours.data(), 4) != 0) return 0;
  const auto node = static_cast<std::uint32_t>(mac[4] << 8 | mac[5]);
  return node <= kMostNodes ? node : 0;
}

/// Broadcast or multicast.
inline bool is_group(const std::uint8_t* mac) { return (mac[0] & 1) != 0; }

}  // namespace shakedown::radio_forwarder
