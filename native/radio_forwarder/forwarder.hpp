// The forwarder: reads the frames of all TAPs and writes each to the TAPs of those who receive it, when they do.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "counts.hpp"
#include "hosts.hpp"
#include "links.hpp"
#include "nodes.hpp"

namespace shakedown::radio_forwarder {

struct Channel {
  Waveform waveform;
  bool serialise = true;          // frames of a node leave one after another, at the waveform's rate
  double overhead_s = 0;          // of each frame on air: preamble, gap
  std::int64_t delay_ns = 0;      // of every frame, besides its time on air and its way
  std::int64_t latest_ns = 0;     // a frame that would be written later than this after its time is lost; 0: none is
  std::size_t queue_frames = 64;  // that wait at a transmitter or are being sent
  bool collisions = false;        // transmissions that overlap at a receiver are lost, as is what comes while it sends
  std::uint64_t seed = 1;
  std::size_t most_bytes = 1514;  // of a frame
};

class Worker;

class Forwarder {
 public:
  /// `nodes` by id; those without a TAP are other hosts'. Their number of threads is 1 where collisions are on.
  Forwarder(const Channel& channel, std::vector<Node>& nodes, int threads, Hosts hosts = {});
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  Links& links() { return links_; }
  [[nodiscard]] Totals totals() const;
  /// Frames of each node since the start: sent by it, and delivered to it.
  struct Traffic {
    std::uint64_t sent = 0, received = 0;
  };
  [[nodiscard]] Traffic traffic(std::uint32_t node) const;

  // ---- for its workers
  [[nodiscard]] const Channel& channel() const { return channel_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const Hosts& hosts() const { return hosts_; }
  [[nodiscard]] bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  void count_sent(std::uint32_t node) { sent_[node].fetch_add(1, std::memory_order_relaxed); }
  void count_received(std::uint32_t node) { received_[node].fetch_add(1, std::memory_order_relaxed); }

 private:
  Channel channel_;
  std::vector<Node>& nodes_;
  Hosts hosts_;
  Links links_;
  std::vector<std::atomic<std::uint64_t>> sent_, received_;
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace shakedown::radio_forwarder
