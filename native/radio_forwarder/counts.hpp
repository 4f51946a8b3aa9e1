// What a forwarder counts. One thread adds, any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "common/json.hpp"

namespace shakedown::radio_forwarder {

/// A number that one thread raises while others read it.
class Count {
 public:
  void add(std::uint64_t more = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// What became of frames. A frame for several receivers counts once as `frames`, and once for each of them below.
enum Fate : std::size_t {
  kFrames,       // read from TAPs, and received from other hosts
  kBytes,        // of these
  kDelivered,    // written to a TAP
  kOutOfRange,   // to a node that is no neighbour now
  kNoNode,       // to an address that no node has
  kByChance,     // lost by the probability of reception
  kQueue,        // more frames waiting at the transmitter than its queue holds
  kCollision,    // overlapped another transmission at the receiver
  kTapFull,      // the receiver's TAP took no more, or was down
  kMalformed,    // shorter than an Ethernet header, or a datagram of another host that is none of ours
  kTooLate,      // written later after its time than the channel's bound: the forwarder did not keep up
  kNoBuffer,     // more frames on the air than the forwarder holds
  kSentToHosts,  // datagrams to other hosts
  kFates
};
inline constexpr std::array<const char*, kFates> kFateNames = {
    "frames",    "bytes",    "delivered", "out_of_range", "no_node",   "by_chance",    "queue",
    "collision", "tap_full", "malformed", "too_late",     "no_buffer", "sent_to_hosts"};

/// Times in buckets that are at most an eighth wide: 8 to each power of two, from 1 ns on.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = std::size_t{64} * 8;

  static std::size_t bucket(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(ns < 1 ? 1 : ns);
    if (value < 8) return static_cast<std::size_t>(value);
    const auto power = static_cast<std::size_t>(std::bit_width(value)) - 1;
    return power * 8 + ((value >> (power - 3)) & 7);
  }
  /// The smallest time of a bucket, ns.
  static double begin_ns(std::size_t bucket) {
    if (bucket < 24) return static_cast<double>(bucket < 8 ? bucket : 8);
    return static_cast<double>((8 + bucket % 8)) * static_cast<double>(std::uint64_t{1} << (bucket / 8 - 3));
  }

  void add(std::int64_t ns) { counts_[bucket(ns)].add(); }
  [[nodiscard]] std::uint64_t read(std::size_t bucket) const { return counts_[bucket].read(); }

 private:
  std::array<Count, kBuckets> counts_;
};

struct Counts {
  std::array<Count, kFates> fates;
  Histogram late;  // from when a frame was due, or read where it was due at once, to when it was written
  void add(Fate fate, std::uint64_t more = 1) { fates[fate].add(more); }
};

/// The sum over threads, at one moment.
struct Totals {
  std::array<std::uint64_t, kFates> fates{};
  std::array<std::uint64_t, Histogram::kBuckets> late{};

  void add(const Counts& counts);
  /// The time below which this share of frames was written, ns: the middle of its bucket. 0 where there are none.
  [[nodiscard]] double late_ns(double share) const;
  /// Numbers alone: what became of frames, and by how much they were late in the median and at 99 %.
  [[nodiscard]] Object numbers() const;
  /// These, and the histogram of the times by which frames were late.
  [[nodiscard]] Object json() const;
};

}  // namespace shakedown::radio_forwarder
