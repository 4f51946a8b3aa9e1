#include "hosts.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/error.hpp"

namespace shakedown::radio_forwarder {
namespace {

constexpr std::uint32_t kMagic = 0x53445246;  // "SDRF"
constexpr std::uint32_t kVersion = 1;

template <class Number>
void put(std::vector<std::uint8_t>& out, Number number) {
  for (int shift = 8 * (static_cast<int>(sizeof number) - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(number >> shift));
  }
}

template <class Number>
Number take(std::span<const std::uint8_t>& from) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = static_cast<Number>(number << 8 | from[i]);
  from = from.subspan(sizeof number);
  return number;
}

sockaddr_in endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  sockaddr_in found{};
  found.sin_family = AF_INET;
  int port = 0;
  if (colon != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc{} || rest != end) port = 0;
  }
  if (port < 1 || port > 65535 || inet_pton(AF_INET, text.substr(0, colon).c_str(), &found.sin_addr) != 1) {
    throw usage("'" + text + "' is not an IPv4 address with a port", "such as 192.0.2.1:45800");
  }
  found.sin_port = htons(static_cast<std::uint16_t>(port));
  return found;
}

bool is_multicast(const sockaddr_in& where) { return (ntohl(where.sin_addr.s_addr) >> 28) == 0xe; }

}  // namespace

void encode(const DistantFrame& frame, std::uint64_t emulation, std::vector<std::uint8_t>& out) {
  out.clear();
  put(out, kMagic);
  put(out, kVersion);
  put(out, emulation);
  put(out, frame.from);
  put(out, frame.number);
  put(out, frame.air_ns);
  out.insert(out.end(), frame.frame.begin(), frame.frame.end());
}

std::optional<DistantFrame> decode(std::span<const std::uint8_t> datagram, std::uint64_t emulation) {
  if (datagram.size() <= kDistantHead) return std::nullopt;
  const auto magic = take<std::uint32_t>(datagram), version = take<std::uint32_t>(datagram);
  if (magic != kMagic || version != kVersion) return std::nullopt;
  if (take<std::uint64_t>(datagram) != emulation) return std::nullopt;
  DistantFrame found;
  found.from = take<std::uint32_t>(datagram);
  found.number = take<std::uint64_t>(datagram);
  found.air_ns = take<std::uint64_t>(datagram);
  found.frame = datagram;
  return found;
}

int Hosts::send(const DistantFrame& frame, std::vector<std::uint8_t>& buffer) const {
  encode(frame, emulation, buffer);
  int taken = 0;
  for (const sockaddr_in& other : others) {
    const auto* const where = reinterpret_cast<const sockaddr*>(&other);
    if (sendto(socket.fd(), buffer.data(), buffer.size(), 0, where, sizeof other) >= 0) ++taken;
  }
  return taken;
}

Hosts open_hosts(const std::string& own, const std::vector<std::string>& others, std::uint64_t emulation) {
  Hosts hosts;
  if (others.empty()) return hosts;
  const sockaddr_in here = endpoint(own);
  hosts.emulation = emulation;
  for (const std::string& text : others) hosts.others.push_back(endpoint(text));
  sockaddr_in bound = here;
  hosts.socket = Handle(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = hosts.socket.fd();
  const auto set = [fd](int level, int option, const auto& value) {
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
  };
  bool made = fd >= 0;
  if (made && is_multicast(hosts.others.front())) {
    bound = hosts.others.front();  // nothing else reaches it
    const ip_mreq membership{bound.sin_addr, here.sin_addr};
    made = set(SOL_SOCKET, SO_REUSEADDR, 1) && set(IPPROTO_IP, IP_ADD_MEMBERSHIP, membership) &&
           set(IPPROTO_IP, IP_MULTICAST_IF, here.sin_addr);
  }
  set(SOL_SOCKET, SO_RCVBUF, 8 << 20);  // less where the kernel's limit is below
  made = made && bind(fd, reinterpret_cast<const sockaddr*>(&bound), sizeof bound) == 0;
  if (!made) throw cannot("listen at " + own + " for other hosts: " + std::strerror(errno), "an address of this host");
  return hosts;
}

}  // namespace shakedown::radio_forwarder
