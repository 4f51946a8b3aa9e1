// Other hosts of an emulation: frames of our nodes go there by UDP, and theirs come; each host decides for its own
// nodes what they receive, from the same links, seed and numbers of frames.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "netlink.hpp"

namespace shakedown::radio_forwarder {

/// Before a frame in a datagram, in network byte order.
struct DistantFrame {
  std::uint32_t from = 0;
  std::uint64_t number = 0;  // of the frame at its transmitter
  std::uint64_t air_ns = 0;  // until the frame has left the transmitter
  std::span<const std::uint8_t> frame;
};
inline constexpr std::size_t kDistantHead = 4 + 4 + 8 + 4 + 8 + 8;  // magic, version, emulation, from, number, air

/// The datagram, in `out`.
void encode(const DistantFrame& frame, std::uint64_t emulation, std::vector<std::uint8_t>& out);
/// What a datagram holds; nothing where it is not one of this emulation.
std::optional<DistantFrame> decode(std::span<const std::uint8_t> datagram, std::uint64_t emulation);

/// One socket, and where to send. Empty: there are no other hosts.
struct Hosts {
  Handle socket;  // not blocking
  std::vector<sockaddr_in> others;
  std::uint64_t emulation = 0;

  [[nodiscard]] bool any() const { return !others.empty(); }
  /// To all; how many datagrams the kernel took.
  int send(const DistantFrame& frame, std::vector<std::uint8_t>& buffer) const;
};

/// Listens at `own` (address:port) and sends to `others`, which may be one multicast group (239.1.2.3:45800), joined on
/// the interface of `own`. Throws a usage error for what is no address, and what the kernel refuses.
Hosts open_hosts(const std::string& own, const std::vector<std::string>& others, std::uint64_t emulation);

}  // namespace shakedown::radio_forwarder
