// A rank's messages: their buffers, what each must hold, and the check that it did.
#pragma once

#include <span>
#include <vector>

#include "multi_pair.hpp"

namespace shakedown::multi_pair {

/// One direction of messages of a rank in a case: to or from one other.
struct Lane {
  int peer = 0;
  int tag = 0;
  int number = 0;  // of ring lanes: 0 to the right, 1 to the left; of pairs 0
};

/// The buffers of a rank and the content of what they hold: bytes that follow from the sender, the sample and the
/// place in the message.
class Messages {
 public:
  Messages(const Group& group, const Options& options, const Shape& shape);

  /// Where messages of a lane go from and to; `slot` of those that are checked whole.
  [[nodiscard]] std::span<std::uint8_t> out(int lane, int slot = 0) const { return at(out_, lane, slot); }
  [[nodiscard]] std::span<std::uint8_t> in(int lane, int slot = 0) const { return at(in_, lane, slot); }

  void set_lanes(std::vector<Lane> sends, std::vector<Lane> receives);
  /// Write the ends of what is sent in a sample; and compare them where it arrived.
  void fill_sample(std::int64_t sample);
  void check_sample(std::int64_t sample);
  /// Whole messages, each with content of its own in a place of its own. Every rank of the group calls it.
  void check_whole();
  [[nodiscard]] const Wrong& wrong() const { return wrong_; }

  static int slots(const Shape& shape, int window);
  static std::size_t stride(std::size_t bytes);

 private:
  [[nodiscard]] std::span<std::uint8_t> at(const Buffer& buffer, int lane, int slot) const;
  [[nodiscard]] std::uint64_t seed(std::int64_t sample, const Lane& lane, int slot, int sender) const;
  void note(std::span<const std::uint8_t> found, std::uint64_t seed, int sender, std::size_t offset);
  void note_length(std::int64_t count, int sender);
  void damage();
  const Group& group_;
  const Options& options_;
  const Shape& shape_;
  int slots_;
  Buffer out_;
  Buffer in_;
  std::vector<Lane> sends_;
  std::vector<Lane> receives_;
  Wrong wrong_;
};

}  // namespace shakedown::multi_pair
