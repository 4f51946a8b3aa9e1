// The content of messages: bytes that depend on their place in the message and on which message it is. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace shakedown::pingpong {

/// What tells one message from another.
struct MessageId {
  int kernel = 0;
  std::uint64_t bytes = 0;
  std::int64_t sample = 0;
  int slot = 0;  // place in its window
  bool from_leader = true;
  int sender = 0;  // where many send at once
};
std::uint64_t seed_of(const MessageId& id);

void fill(std::span<std::uint8_t> data, std::uint64_t seed);
void fill_wrong(std::span<std::uint8_t> data, std::uint64_t seed);  // every byte differs from fill's
/// How many bytes are not what fill wrote.
std::int64_t count_wrong(std::span<const std::uint8_t> data, std::uint64_t seed);

}  // namespace shakedown::pingpong
