// Nodes: a network namespace each, with a TAP `radio0`, made by this process alone and held by its file descriptors.
// Nothing has a name outside: what a node is made of goes with the process, however it ends.
#pragma once

#include <cstdint>
#include <vector>

#include "netlink.hpp"

namespace shakedown::radio_forwarder {

inline constexpr char kInterface[] = "radio0";

struct NodeSettings {
  std::uint32_t first = 1, last = 1;  // ids of those that this host holds
  int mtu = 1500;
  bool routed = false;  // addresses with prefixes of one host, and packets of others forwarded: for routing daemons
  bool ipv6 = true;     // without it a node sends nothing of its own accord
  int threads = 2;
};

/// Node n: 10.77.x.y with n = 256 x + y, fd77::n and fe80::n (n in hexadecimal). On one link (/16, /64), or routed
/// (/32, /128).
struct Node {
  Handle space;  // its network namespace
  Handle tap;    // not blocking
};

/// By id: entries outside first to last are empty. Throws what could not be made, with the limit that is in the way.
/// The calling process is in its own namespace afterwards as before.
std::vector<Node> make_nodes(const NodeSettings& settings);

/// Raise the limit of open files for so many nodes. Throws where the hard limit is below, with the way to raise it.
void allow_files(std::uint32_t nodes);

}  // namespace shakedown::radio_forwarder
