// The networks of a node (rails): whether they are there, and the bytes that they carried by the kernel's own counters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shakedown::multi_pair {

/// What the kernel says of a network: an interface (eth0) or an adapter's port (mlx5_0:1).
struct RailState {
  bool is_there = false;
  bool is_up = false;
  std::string state;       // in the kernel's words
  std::int64_t bytes = 0;  // sent and received since it was brought up
};

/// `folder` is /sys/class, or stands for it. Never throws: what cannot be read is not there.
RailState read_rail(const std::string& name, const std::string& folder = "/sys/class");
/// All networks that are there, but for the loopback.
std::vector<std::string> rails_there(const std::string& folder = "/sys/class");

/// Why messages cannot go by these networks; empty where they can. `host` is this one's name.
std::string not_usable(const std::vector<std::string>& names, const std::string& host,
                       const std::string& folder = "/sys/class");

/// What each of several networks carried while something was sent, on all hosts together.
struct Carried {
  std::vector<std::int64_t> bytes;  // in the order of the names
  std::int64_t payload = 0;         // of messages between hosts, twice: sent and received
};

/// The part of what the networks carried that went by those that were not chosen; NaN where less than the payload went
/// by all of them, so that it took a way that is not watched.
double strayed(const Carried& carried, const std::vector<bool>& chosen);
/// The first chosen one with less than a tenth of what its equals carried on average; -1: none.
int idle(const Carried& carried, const std::vector<bool>& chosen);

}  // namespace shakedown::multi_pair
