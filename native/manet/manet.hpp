// The interface of manet: traffic through the forwarder of an emulated network, from TAP to TAP.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "radio_forwarder/forwarder.hpp"

namespace shakedown::manet {

using radio_forwarder::Forwarder;
using radio_forwarder::Handle;
using radio_forwarder::LinkChange;
using radio_forwarder::Node;

/// EtherType for local experiments (IEEE 802, 2014, 9.2.4): no protocol of the kernel takes such frames.
inline constexpr std::uint16_t kEtherType = 0x88B5;

/// A packet socket on a node's interface: frames as they are.
class Port {
 public:
  /// `listens`: it receives frames of kEtherType, with the time of their arrival. The calling thread comes back to its
  /// own namespace.
  Port(const Node& node, bool listens);
  /// So many copies of a frame, in one call; how many the kernel took.
  int send(const std::vector<std::uint8_t>& frame, int copies) const;
  struct Arrival {
    std::uint32_t from = 0;
    std::int64_t sent_ns = 0, arrived_ns = 0;  // Unix time
  };
  /// Take all frames that wait; how many.
  int take(const std::function<void(const Arrival&)>& taker) const;
  /// Frames that the kernel dropped because the socket's buffer was full, since the last call.
  [[nodiscard]] std::uint64_t drops() const;
  [[nodiscard]] int fd() const { return socket_.fd(); }

 private:
  Handle socket_;
};

/// A frame from one node: to another, or to all where `to` is 0. Its head holds when it was sent.
std::vector<std::uint8_t> make_frame(std::uint32_t from, std::uint32_t to, std::size_t bytes);
void stamp(std::vector<std::uint8_t>& frame);

/// Frames that the kernel counted at a node's interface: those that reached it.
std::uint64_t arrived(const Node& node);

/// All frames of a count through the forwarder, each node to the next, as fast as it takes them. Seconds; `missing`:
/// those that did not reach the interface of their receiver.
double forward_all(Forwarder& forwarder, std::vector<Node>& nodes, std::int64_t frames, std::size_t bytes,
                   std::int64_t& missing);

/// Delays of frames sent one by one at a rate, from before the sender's call to the arrival at the receiver's
/// interface. Empty where some were lost.
std::vector<double> delays(std::vector<Node>& nodes, double rate, std::int64_t frames, std::size_t bytes);

struct Loss {
  std::int64_t links = 0, outside = 0;  // outside of the central 99 % of their binomial distribution
  double least = 1;                     // the smallest tail of all links
  std::int64_t uncounted = 0;           // frames that the sockets of the receivers lost
};
/// Each of the first `count` nodes sends `frames` frames to all; those that come at these are counted for each link.
/// `of` gives the probability that a link was told to have; below 0: there is none.
Loss losses(Forwarder& forwarder, std::vector<Node>& nodes, std::uint32_t count, std::int64_t frames, std::size_t bytes,
            const std::function<double(std::uint32_t from, std::uint32_t to)>& of);

/// What the kernel holds for itself, bytes: slabs that it cannot give back, and memory of each CPU (/proc/meminfo).
std::uint64_t kernel_bytes();

/// Whether a worker of the kernel takes network namespaces apart just now; false where its threads are not to be seen.
bool kernel_is_at_it();

}  // namespace shakedown::manet
