// A thread of the forwarder: the TAPs of some nodes, and all frames that these have on the air.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "forwarder.hpp"
#include "wheel.hpp"

namespace shakedown::radio_forwarder {

class Worker {
 public:
  /// `mine`: the nodes whose frames it reads; `hosts`: whether it reads those of other hosts.
  Worker(Forwarder& forwarder, const std::vector<std::uint32_t>& mine, bool hosts);
  void run();
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// A frame, held as long as somebody is still to receive it.
  struct Buffer {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t length = 0;
    std::uint32_t holders = 0;
  };
  /// One receiver of a frame, in the future.
  struct Delivery {
    std::uint32_t buffer = 0, to = 0;
    std::int64_t due_ns = 0;
    bool collided = false;
  };
  /// A transmission as it passes a receiver, or its own.
  struct Passing {
    std::int64_t begin_ns = 0, end_ns = 0;
    std::uint32_t delivery = kNone;  // none: it is not received anyway, or is its own
  };
  /// When a frame is sent, and by whom.
  struct Sending {
    std::uint32_t from = 0;
    std::uint64_t number = 0;
    std::int64_t read_ns = 0, begin_ns = 0, end_ns = 0;
  };

  void watch(int fd, std::uint32_t node);
  void wait(bool poll_only);
  bool read_node(std::uint32_t node);
  bool read_hosts();
  void forward(Transmitter& transmitter, std::uint32_t from, std::int64_t now_ns);
  bool send(Transmitter& transmitter, std::size_t bytes, Sending& sending) const;
  void deliver_to_all(Transmitter& transmitter, const Sending& sending);
  void deliver_to(const Neighbour& neighbour, const Sending& sending);
  bool collides(std::uint32_t at, const Passing& passing);
  void deliver_later(std::uint32_t delivery);
  void write_tap(std::uint32_t to, const Buffer& buffer, std::int64_t due_ns);
  std::uint32_t take_buffer();
  [[nodiscard]] bool is_here(std::uint32_t node) const { return forwarder_.nodes()[node].tap.fd() >= 0; }

  Forwarder& forwarder_;
  const Channel& channel_;
  Counts counts_;
  Handle epoll_;
  Wheel wheel_;
  bool hosts_;
  std::deque<std::uint32_t> ready_;  // nodes that may have frames; 0: other hosts
  std::vector<char> is_ready_;       // by node
  std::vector<Buffer> buffers_;
  std::vector<std::uint32_t> free_buffers_;
  std::uint32_t current_ = 0;  // the buffer that is read into
  std::vector<Delivery> deliveries_;
  std::vector<std::uint32_t> free_deliveries_;
  std::vector<std::vector<Passing>> passing_;  // by receiver, where collisions are on
  std::vector<std::uint8_t> datagram_;
};

}  // namespace shakedown::radio_forwarder
