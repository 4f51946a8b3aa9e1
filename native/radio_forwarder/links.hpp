// Who hears whom: of every transmitter the nodes in its range, each with its probability of reception of the moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "reception.hpp"

namespace shakedown::radio_forwarder {

/// What is told of a link from one node to another; the other direction is a link of its own.
struct LinkChange {
  std::uint32_t from = 0, to = 0;
  float snr_db = 0;  // at the receiver; NaN: out of range
  float distance_m = 0;
};
static_assert(sizeof(LinkChange) == 16);

struct Neighbour {
  std::uint32_t node = 0;
  Reception reception;
  std::int64_t propagation_ns = 0;
};

/// A transmitter. `lock` holds while it is read or changed.
struct Transmitter {
  std::mutex lock;
  std::vector<Neighbour> neighbours;   // by node, rising
  std::uint64_t frames = 0;            // sent so far: the number of the next
  std::int64_t busy_until_ns = 0;      // its radio sends until then
  std::deque<std::int64_t> on_air_ns;  // ends of the frames that wait or are being sent
};

/// All transmitters, by id from 1 on. Safe from any thread.
class Links {
 public:
  Links(std::uint32_t nodes, const Waveform& waveform) : waveform_(waveform), transmitters_(nodes + 1) {}

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(transmitters_.size() - 1); }
  Transmitter& of(std::uint32_t node) { return transmitters_[node]; }

  /// All changes, or none where one is wrong: throws a usage error that names it.
  void change(std::span<const LinkChange> changes);

  /// How many links there are, of both directions.
  [[nodiscard]] std::size_t count();

 private:
  Waveform waveform_;
  std::vector<Transmitter> transmitters_;
};

/// The neighbour of that id, or null. `lock` of the transmitter is held.
const Neighbour* find(const Transmitter& transmitter, std::uint32_t node);

}  // namespace shakedown::radio_forwarder
