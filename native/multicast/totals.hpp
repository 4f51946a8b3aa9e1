// What one trial came to: pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shakedown::multicast {

/// What one sender did.
struct Sent {
  std::int64_t packets = 0;  // sequence numbers used
  std::int64_t refused = 0;  // of them, those that its own kernel had no room for
  std::int64_t span_ns = 0;
};

/// What one listener heard of all the others.
struct Heard {
  std::int64_t expected = 0;
  std::int64_t unique = 0;
  std::int64_t duplicates = 0;
  std::int64_t reordered = 0;
  std::int64_t corrupt = 0;
  std::int64_t foreign = 0;
  std::int64_t dropped = 0;  // by its own kernel, at its socket
  std::int64_t unheard = 0;  // senders of which nothing came
  std::int64_t backlog = 0;  // dropped on its host before any socket
  std::int64_t span_ns = 0;  // from the first packet to the last
};

struct Outcome {
  std::vector<Sent> sent;    // by rank; no packets: it does not send
  std::vector<Heard> heard;  // by rank; nothing expected: it does not listen
};

struct Totals {
  std::int64_t senders = 0;
  std::int64_t listeners = 0;
  std::int64_t sent = 0;
  std::int64_t expected = 0;  // deliveries: packets times their receivers
  std::int64_t lost = 0;
  std::int64_t dropped = 0;  // of the lost: at a receiver's socket
  std::int64_t refused = 0;  // of the lost: in a sender's kernel
  std::int64_t network = 0;  // of the lost: the rest, but for the corrupt
  std::int64_t duplicates = 0;
  std::int64_t reordered = 0;
  std::int64_t corrupt = 0;
  std::int64_t foreign = 0;
  std::int64_t backlog = 0;
  std::int64_t unheard = 0;
  double span_s = 0;                      // of the slowest sender or listener
  double delivered = 0;                   // packets, by listener, in the mean
  std::vector<std::int64_t> lost_at;      // by rank
  std::vector<std::int64_t> expected_at;  // by rank

  /// Take the counts of one more trial of the same ranks; times and rates are each trial's own.
  void add(const Totals& one) {
    expected += one.expected;
    lost += one.lost;
    dropped += one.dropped;
    refused += one.refused;
    network += one.network;
    duplicates += one.duplicates;
    reordered += one.reordered;
    corrupt += one.corrupt;
    foreign += one.foreign;
    backlog += one.backlog;
    lost_at.resize(std::max(lost_at.size(), one.lost_at.size()));
    expected_at.resize(lost_at.size());
    for (std::size_t rank = 0; rank < one.lost_at.size(); ++rank) {
      lost_at[rank] += one.lost_at[rank];
      expected_at[rank] += one.expected_at[rank];
    }
  }

  /// The listener that lost the largest share, over all trials; -1 where nothing was lost.
  [[nodiscard]] int worst() const {
    int found = -1;
    for (std::size_t rank = 0; rank < lost_at.size(); ++rank) {
      if (loss_at(static_cast<int>(rank)) > loss_at(found)) found = static_cast<int>(rank);
    }
    return found;
  }
  [[nodiscard]] double loss_at(int rank) const {
    if (rank < 0 || expected_at[static_cast<std::size_t>(rank)] == 0) return 0;
    const auto at = static_cast<std::size_t>(rank);
    return static_cast<double>(lost_at[at]) / static_cast<double>(expected_at[at]);
  }

  [[nodiscard]] double loss() const {
    return expected > 0 ? static_cast<double>(lost) / static_cast<double>(expected) : 0;
  }
  /// Packets/s of each sender, as they really were.
  [[nodiscard]] double offered() const {
    return senders > 0 && span_s > 0 ? static_cast<double>(sent) / static_cast<double>(senders) / span_s : 0;
  }
  [[nodiscard]] bool lossless() const { return expected > 0 && lost == 0 && corrupt == 0; }
};

inline Totals add_up(const Outcome& outcome) {
  Totals all;
  std::int64_t span_ns = 0;
  for (const auto& one : outcome.sent) {
    if (one.packets == 0) continue;
    ++all.senders;
    all.sent += one.packets;
    all.refused += one.refused;
    span_ns = std::max(span_ns, one.span_ns);
  }
  std::int64_t unique = 0;
  all.lost_at.resize(outcome.heard.size());
  all.expected_at.resize(outcome.heard.size());
  for (std::size_t rank = 0; rank < outcome.heard.size(); ++rank) {
    const Heard& one = outcome.heard[rank];
    if (one.expected == 0) continue;
    ++all.listeners;
    all.expected += one.expected;
    unique += one.unique;
    const std::int64_t lost = std::max<std::int64_t>(0, one.expected - one.unique);
    all.lost += lost;
    all.dropped += std::clamp<std::int64_t>(one.dropped, 0, lost);
    all.duplicates += one.duplicates;
    all.reordered += one.reordered;
    all.corrupt += one.corrupt;
    all.foreign += one.foreign;
    all.unheard += one.unheard;
    all.backlog = std::max(all.backlog, one.backlog);  // ranks of one host count the same ones
    span_ns = std::max(span_ns, one.span_ns);
    all.lost_at[rank] = lost;
    all.expected_at[rank] = one.expected;
  }
  // A packet refused where it was sent is lost to each of its receivers, but for those on the sender's own host.
  const std::int64_t listeners = std::max<std::int64_t>(1, all.senders > 1 ? all.listeners - 1 : all.listeners);
  all.refused = std::min(all.refused * listeners, all.lost - all.dropped);
  all.network = std::max<std::int64_t>(0, all.lost - all.dropped - all.refused - all.corrupt);
  all.span_s = static_cast<double>(span_ns) * 1e-9;
  if (all.listeners > 0) all.delivered = static_cast<double>(unique) / static_cast<double>(all.listeners);
  return all;
}

}  // namespace shakedown::multicast
