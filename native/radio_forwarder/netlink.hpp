// Settings of a network namespace by netlink messages, several in one call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace shakedown::radio_forwarder {

/// A file descriptor that closes itself.
class Handle {
 public:
  Handle() = default;
  explicit Handle(int fd) : fd_(fd) {}
  Handle(Handle&& other) noexcept : fd_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
  [[nodiscard]] int fd() const { return fd_; }
  int release();

 private:
  int fd_ = -1;
};

/// Messages for the calling thread's network namespace (rtnetlink(7)).
class Messages {
 public:
  /// This address and MTU; from then on IPv6 makes no address of its own. Before the interface is up: the kernel takes
  /// the flags of a message first.
  void set_address(int index, const std::array<std::uint8_t, 6>& mac, int mtu);
  void set_up(int index);
  /// An address (4 or 16 bytes) of an interface, usable at once.
  void add_address(int index, const std::vector<std::uint8_t>& address, int prefix);

  /// Send all, and wait for each answer. Throws what the kernel refused, in words.
  void carry_out(const std::string& what);

 private:
  std::size_t begin(std::uint16_t type, std::uint16_t flags);
  std::size_t begin_link(int index, std::uint32_t flags);
  void end(std::size_t at);
  void attribute(std::uint16_t type, const void* data, std::size_t bytes);
  std::size_t open_attribute(std::uint16_t type);
  void close_attribute(std::size_t at);
  void put(const void* data, std::size_t bytes);

  std::vector<std::uint8_t> buffer_;
  std::uint32_t count_ = 0;
};

}  // namespace shakedown::radio_forwarder
