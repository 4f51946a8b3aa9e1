// Which interface of each host: listed from the kernel, chosen together. The choice is pure.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shakedown::multicast {

enum class Family { ipv4, ipv6 };

inline const char* name_of(Family family) { return family == Family::ipv4 ? "ipv4" : "ipv6"; }

/// One address of one interface that is up.
struct Interface {
  std::string name;
  unsigned index = 0;
  Family family = Family::ipv4;
  std::array<std::uint8_t, 16> address{};  // the first 4 bytes for IPv4
  int prefix = 0;                          // bits of the network
  int mtu = 0;
  double speed_bit_s = 0;  // 0: the kernel does not say
  bool loopback = false;
  bool multicast = false;
  bool running = false;

  [[nodiscard]] std::string text() const;     // 10.77.0.11/24
  [[nodiscard]] std::string network() const;  // 10.77.0.0/24
  [[nodiscard]] bool link_local() const;
};

/// All addresses of this host's interfaces that are up.
std::vector<Interface> list_interfaces();

/// A line for each, and back: what ranks tell one another.
std::string to_text(const std::vector<Interface>& interfaces);
std::vector<Interface> from_text(const std::string& text);

/// For each rank the interface to use, from what each rank's host has. `asked` is a name (eth1), a network
/// (10.77.0.0/24, fd77::/64) or auto. Auto within one host: the loopback where `loopback_works`, else any that can
/// multicast; over several hosts: a network that all are on, each at an address of its own, the fastest. Throws where
/// there is none, with what the hosts have.
std::vector<Interface> choose_interfaces(const std::vector<std::string>& hosts,
                                         const std::vector<std::vector<Interface>>& found, Family family,
                                         const std::string& asked, bool loopback_works);

/// Bits that a packet of so many bytes of payload takes on Ethernet: UDP's 8 bytes, and for each fragment the head of
/// IP (20 or 40, and 8 more of IPv6's fragment header) and 38 of Ethernet (IEEE 802.3: preamble 8, head 14, check 4,
/// gap 12).
double wire_bits(Family family, std::size_t payload_bytes, int mtu);

}  // namespace shakedown::multicast
