#include "sockets.hpp"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/error.hpp"

namespace shakedown::multicast {
namespace {

constexpr int kMeminfo = 55;  // SO_MEMINFO: since Linux 4.12, and not in every C library's headers

[[noreturn]] void fail(const std::string& what, const std::string& hint = "") {
  const int number = errno;
  throw cannot(what + ": " + std::strerror(number), hint);
}

template <class T>
void set(const Socket& socket, int level, int name, const T& value, const std::string& what) {
  if (setsockopt(socket.fd(), level, name, &value, sizeof value) != 0) fail(what);
}

int domain(Family family) { return family == Family::ipv4 ? AF_INET : AF_INET6; }

Socket udp(Family family) {
  Socket made(::socket(domain(family), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (made.fd() < 0) fail("no UDP socket of " + std::string(name_of(family)));
  return made;
}

void grow(const Socket& socket, int option, int forced, int bytes) {
  if (setsockopt(socket.fd(), SOL_SOCKET, forced, &bytes, sizeof bytes) == 0) return;  // for who may pass the limit
  set(socket, SOL_SOCKET, option, bytes, "a socket's buffer cannot be set");
}

ip_mreqn membership(const in_addr& group, const Interface& interface) {
  ip_mreqn request{};
  request.imr_multiaddr = group;
  request.imr_ifindex = static_cast<int>(interface.index);
  return request;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

std::string Endpoint::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, text.data(), text.size());
  }
  return text.data();
}

Endpoint own_endpoint(const Interface& interface) {
  Endpoint made;
  if (interface.family == Family::ipv4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    std::memcpy(&address.sin_addr, interface.address.data(), 4);
    std::memcpy(&made.storage, &address, sizeof address);
    made.length = sizeof address;
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    std::memcpy(&address.sin6_addr, interface.address.data(), 16);
    if (interface.link_local()) address.sin6_scope_id = interface.index;
    std::memcpy(&made.storage, &address, sizeof address);
    made.length = sizeof address;
  }
  return made;
}

Endpoint group_endpoint(const std::string& base, unsigned offset, std::uint16_t port, const Interface& interface) {
  Endpoint made;
  const std::string range = interface.family == Family::ipv4 ? "224.0.0.0 to 239.255.255.255" : "ff00::/8";
  const Error refused = usage("--group: '" + base + "' is not a multicast address of " + name_of(interface.family) +
                                  " with room for the groups",
                              "one within " + range + "; for both families name one for each, with a comma");
  if (interface.family == Family::ipv4) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, base.c_str(), &address.sin_addr) != 1) throw refused;
    address.sin_addr.s_addr = htonl(ntohl(address.sin_addr.s_addr) + offset);
    if (!IN_MULTICAST(ntohl(address.sin_addr.s_addr))) throw refused;
    std::memcpy(&made.storage, &address, sizeof address);
    made.length = sizeof address;
    return made;
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_scope_id = interface.index;
  if (inet_pton(AF_INET6, base.c_str(), &address.sin6_addr) != 1) throw refused;
  std::uint32_t low = 0;
  std::memcpy(&low, address.sin6_addr.s6_addr + 12, 4);
  low = htonl(ntohl(low) + offset);
  std::memcpy(address.sin6_addr.s6_addr + 12, &low, 4);
  if (!IN6_IS_ADDR_MULTICAST(&address.sin6_addr)) throw refused;
  std::memcpy(&made.storage, &address, sizeof address);
  made.length = sizeof address;
  return made;
}

Socket group_socket(const Endpoint& group, const Interface& interface, int buffer_bytes) {
  Socket made = udp(interface.family);
  set(made, SOL_SOCKET, SO_REUSEADDR, 1, "a group's address cannot be shared");
  if (interface.family == Family::ipv4) {
    set(made, IPPROTO_IP, IP_MULTICAST_ALL, 0, "IP_MULTICAST_ALL");  // of this interface alone
  }
  grow(made, SO_RCVBUF, SO_RCVBUFFORCE, buffer_bytes);
  if (bind(made.fd(), group.get(), group.length) != 0) {
    fail("group " + group.text() + " cannot be bound", "another program holds its port: choose one with --port");
  }
  return made;
}

void join(const Socket& socket, const Endpoint& group, const Interface& interface) {
  const std::string what = "group " + group.text() + " cannot be joined on " + interface.name;
  int failed = 0;
  if (interface.family == Family::ipv4) {
    const ip_mreqn request = membership(reinterpret_cast<const sockaddr_in*>(&group.storage)->sin_addr, interface);
    failed = setsockopt(socket.fd(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  } else {
    ipv6_mreq request{};
    request.ipv6mr_multiaddr = reinterpret_cast<const sockaddr_in6*>(&group.storage)->sin6_addr;
    request.ipv6mr_interface = interface.index;
    failed = setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
  }
  if (failed != 0) fail(what, "fewer groups (--groups), or a larger net.ipv4.igmp_max_memberships");
}

Socket sending_socket(const Interface& interface, int ttl, bool loop, int buffer_bytes) {
  Socket made = udp(interface.family);
  grow(made, SO_SNDBUF, SO_SNDBUFFORCE, buffer_bytes);
  const Endpoint own = own_endpoint(interface);
  if (bind(made.fd(), own.get(), own.length) != 0) fail("the address " + own.text() + " cannot be sent from");
  if (interface.family == Family::ipv4) {
    set(made, IPPROTO_IP, IP_MULTICAST_IF, membership({}, interface), "no multicast out of " + interface.name);
    set(made, IPPROTO_IP, IP_MULTICAST_TTL, ttl, "the TTL cannot be set");
    set(made, IPPROTO_IP, IP_MULTICAST_LOOP, loop ? 1 : 0, "multicast to this host cannot be set");
    set(made, IPPROTO_IP, IP_RECVERR, 1, "IP_RECVERR");  // a full queue of the interface is told: ENOBUFS
  } else {
    set(made, IPPROTO_IPV6, IPV6_MULTICAST_IF, interface.index, "no multicast out of " + interface.name);
    set(made, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ttl, "the hop limit cannot be set");
    set(made, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop ? 1 : 0, "multicast to this host cannot be set");
    set(made, IPPROTO_IPV6, IPV6_RECVERR, 1, "IPV6_RECVERR");
  }
  return made;
}

void connect_to(const Socket& socket, const Endpoint& where) {
  if (connect(socket.fd(), where.get(), where.length) != 0) {
    fail("there is no way to group " + where.text(),
         "multicast needs a route out of the interface, such as: ip route add 224.0.0.0/4 dev eth0; "
         "ip -6 route add ff00::/8 dev eth0 table local");
  }
}

bool loopback_works(Family family) {
  for (const auto& one : list_interfaces()) {
    if (!one.loopback || one.family != family) continue;
    try {
      const Socket socket = sending_socket(one, 0, true, 4096);
      connect_to(socket, group_endpoint(family == Family::ipv4 ? "239.255.0.1" : "ff15::1", 0, 9, one));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  return false;
}

int receive_buffer(const Socket& socket) {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  getsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return bytes;
}

std::int64_t drops_of(const Socket& socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> counts{};
  socklen_t length = sizeof counts;
  if (getsockopt(socket.fd(), SOL_SOCKET, kMeminfo, counts.data(), &length) != 0) {
    fail("the kernel does not report what it dropped (SO_MEMINFO)", "Linux 4.12 or later is needed");
  }
  return counts[SK_MEMINFO_DROPS];
}

std::int64_t backlog_drops() {
  std::ifstream file("/proc/net/softnet_stat");  // one line a CPU, in hexadecimal; the second column: dropped
  std::int64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::int64_t processed = 0;
    std::int64_t dropped = 0;
    if (words >> std::hex >> processed >> dropped) total += dropped;
  }
  return total;
}

}  // namespace shakedown::multicast
