// A packet of the measurement: a header, a payload that is never all alike, and a checksum over both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace shakedown::multicast {

inline constexpr std::uint32_t kNobody = 0xffffffff;
inline constexpr std::size_t kMostBytes = 65507;  // of a UDP payload over IPv4

/// In the byte order of the hosts, which are alike; a packet of another run or another order is foreign, not corrupt.
struct Header {
  std::uint64_t run = 0;       // drawn once a job
  std::uint64_t checksum = 0;  // of all other bytes of the packet
  std::uint64_t sequence = 0;  // counts from 0 in each trial, for each sender
  std::int64_t sent_ns = 0;    // on the sender's monotonic clock
  std::uint32_t trial = 0;
  std::uint32_t sender = 0;
  std::uint32_t target = kNobody;  // who answers
  std::uint32_t bytes = 0;         // of the whole packet
};
static_assert(sizeof(Header) == 48);

/// The next number of a well-mixed sequence (splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
inline std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

namespace packet_detail {

inline constexpr std::size_t kWords = kMostBytes / 8 + 1;

/// An odd factor for each word of a packet.
inline const std::array<std::uint64_t, kWords>& factors() {
  static const auto table = [] {
    std::array<std::uint64_t, kWords> made{};
    std::uint64_t state = 0x5eed;
    for (auto& one : made) one = mix(state) | 1;
    return made;
  }();
  return table;
}

}  // namespace packet_detail

/// The sum of word times factor over the 8-byte words of `data`, which lies `at` bytes (a multiple of 8) into its
/// packet. Any change within one word shows for certain (its factor is odd), any other but for 1 in about 2^63.
inline std::uint64_t sum_words(std::span<const std::uint8_t> data, std::size_t at) {
  const std::uint64_t* factor = packet_detail::factors().data() + at / 8;
  const std::size_t whole = data.size() / 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < whole; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + 8 * i, 8);
    sum += word * factor[i];
  }
  if (const std::size_t rest = data.size() % 8; rest != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + 8 * whole, rest);
    sum += word * factor[whole];
  }
  return sum;
}

/// The checksum of a packet with this header, whose payload sums to `payload_sum`.
inline std::uint64_t checksum(Header header, std::uint64_t payload_sum) {
  header.checksum = 0;
  std::array<std::uint8_t, sizeof header> bytes{};
  std::memcpy(bytes.data(), &header, sizeof header);
  return sum_words(bytes, 0) + payload_sum;
}

/// What a received datagram is. Only a whole packet's header may be used.
enum class Arrival { whole, corrupt, foreign };

inline Arrival examine(std::span<const std::uint8_t> data, std::uint64_t run, bool verify, Header& header) {
  if (data.size() < sizeof header) return Arrival::foreign;
  std::memcpy(&header, data.data(), sizeof header);
  if (header.run != run) return Arrival::foreign;
  if (header.bytes != data.size()) return Arrival::corrupt;
  if (verify && checksum(header, sum_words(data.subspan(sizeof header), sizeof header)) != header.checksum) {
    return Arrival::corrupt;
  }
  return Arrival::whole;
}

/// A sender's payloads: a few that all differ, used in turn, with their sums.
class Payloads {
 public:
  static constexpr std::size_t kCount = 16;

  Payloads(std::uint32_t sender, std::size_t packet_bytes) : bytes_(packet_bytes - sizeof(Header)) {
    for (std::size_t i = 0; i < kCount; ++i) {
      std::uint64_t state = (std::uint64_t{sender} << 32) + i;
      data_[i].resize(bytes_ + 8);
      for (std::size_t at = 0; at < bytes_; at += 8) {
        const std::uint64_t word = mix(state);
        std::memcpy(data_[i].data() + at, &word, 8);
      }
      data_[i].resize(bytes_);
      sums_[i] = sum_words(data_[i], sizeof(Header));
    }
  }

  [[nodiscard]] std::span<std::uint8_t> at(std::uint64_t sequence) { return data_[sequence % kCount]; }
  [[nodiscard]] std::uint64_t sum(std::uint64_t sequence) const { return sums_[sequence % kCount]; }

 private:
  std::size_t bytes_;
  std::array<std::vector<std::uint8_t>, kCount> data_;
  std::array<std::uint64_t, kCount> sums_{};
};

}  // namespace shakedown::multicast
