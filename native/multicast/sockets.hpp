// UDP sockets: one that listens to a group on one interface, one that sends there; what the kernel dropped of a socket.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

#include "interfaces.hpp"

namespace shakedown::multicast {

/// An address of either family, with its port.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] std::string text() const;
};

/// The interface's own address, any port.
Endpoint own_endpoint(const Interface& interface);
/// The `offset`-th group after `base` (239.255.0.1, ff15::1), on this interface. Throws a usage error for what is none.
Endpoint group_endpoint(const std::string& base, unsigned offset, std::uint16_t port, const Interface& interface);

/// A file descriptor that closes itself.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Bound to the group's address and port, so that nothing else reaches it; join() makes it a member. `buffer_bytes` is
/// asked of the kernel (past its limit where we may).
Socket group_socket(const Endpoint& group, const Interface& interface, int buffer_bytes);
void join(const Socket& socket, const Endpoint& group, const Interface& interface);

/// Sends multicast out of the interface, from its own address; `loop`: sockets of this host hear it, too.
Socket sending_socket(const Interface& interface, int ttl, bool loop, int buffer_bytes);
void connect_to(const Socket& socket, const Endpoint& where);

/// Whether this kernel routes multicast of the family over its loopback.
bool loopback_works(Family family);

/// The receive buffer that the kernel granted, in bytes, as it counts (with its own bookkeeping).
int receive_buffer(const Socket& socket);

/// Datagrams that the kernel dropped of this socket, since it was made: its buffer was full, or a UDP checksum wrong.
std::int64_t drops_of(const Socket& socket);

/// Packets that this host's kernel dropped because its backlog queue was full (all interfaces, since it booted).
std::int64_t backlog_drops();

}  // namespace shakedown::multicast
