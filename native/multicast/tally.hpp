// What arrived of one sender's packets in one trial: each counted once, the others by what is odd about them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shakedown::multicast {

inline constexpr std::uint64_t kMostPackets = std::uint64_t{1} << 28;  // of one sender in one trial

class Tally {
 public:
  /// Make room for so many, so that counting them allocates nothing.
  void expect(std::uint64_t packets) { seen_.reserve(static_cast<std::size_t>(packets / 64 + 1)); }

  /// Count one packet; false for a sequence number that no sender reaches.
  bool take(std::uint64_t sequence) {
    if (sequence >= kMostPackets) return false;
    const auto word = static_cast<std::size_t>(sequence / 64);
    const std::uint64_t bit = std::uint64_t{1} << (sequence % 64);
    if (word >= seen_.size()) seen_.resize(word + 1);
    if ((seen_[word] & bit) != 0) {
      ++duplicates_;
      return true;
    }
    seen_[word] |= bit;
    ++unique_;
    if (sequence < next_) {
      ++reordered_;
    } else {
      next_ = sequence + 1;
    }
    return true;
  }

  [[nodiscard]] std::int64_t unique() const { return unique_; }
  [[nodiscard]] std::int64_t duplicates() const { return duplicates_; }
  /// Packets that came after one that was sent later (RFC 4737, section 3.3, Type-P-Reordered).
  [[nodiscard]] std::int64_t reordered() const { return reordered_; }

 private:
  std::vector<std::uint64_t> seen_;
  std::uint64_t next_ = 0;
  std::int64_t unique_ = 0;
  std::int64_t duplicates_ = 0;
  std::int64_t reordered_ = 0;
};

}  // namespace shakedown::multicast
