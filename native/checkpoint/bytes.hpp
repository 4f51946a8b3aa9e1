// Numbers and texts as bytes in one order (little endian), for manifests and messages; reading never leaves its bounds.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace shakedown::checkpoint {

using Bytes = std::vector<std::uint8_t>;

class Packer {
 public:
  void whole(std::uint64_t value, int bytes) {
    for (int at = 0; at < bytes; ++at) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * at)));
  }
  void u8(std::uint8_t value) { whole(value, 1); }
  void u32(std::uint32_t value) { whole(value, 4); }
  void u64(std::uint64_t value) { whole(value, 8); }
  void real(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    u64(bits);
  }
  void raw(std::span<const std::uint8_t> from) { bytes_.insert(bytes_.end(), from.begin(), from.end()); }
  void text(const std::string& value) {
    u64(value.size());
    raw({reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
  }
  void block(const Bytes& value) {
    u64(value.size());
    raw(value);
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// After the first thing that is not there, everything reads as zero and `sound` is false.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::uint8_t> from) : from_(from) {}

  std::uint64_t whole(int bytes) {
    if (!has(static_cast<std::uint64_t>(bytes))) return 0;
    std::uint64_t value = 0;
    for (int at = 0; at < bytes; ++at) value |= std::uint64_t{from_[at_++]} << (8 * at);
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(whole(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(whole(4)); }
  std::uint64_t u64() { return whole(8); }
  /// A count of things that have at least so many bytes each: never more than what is left can hold.
  std::size_t count(std::uint64_t each_bytes) {
    const std::uint64_t found = u64();
    if (found > left() / each_bytes) sound_ = false;
    return sound_ ? static_cast<std::size_t>(found) : 0;
  }
  int number() {
    const std::uint32_t found = u32();
    if (found > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) sound_ = false;
    return sound_ ? static_cast<int>(found) : 0;
  }
  double real() {
    const std::uint64_t bits = u64();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  void raw(std::span<std::uint8_t> into) {
    if (!has(into.size())) return;
    std::memcpy(into.data(), from_.data() + at_, into.size());
    at_ += into.size();
  }
  std::string text() {
    const std::size_t bytes = count(1);
    std::string value(reinterpret_cast<const char*>(from_.data()) + at_, bytes);
    at_ += bytes;
    return value;
  }
  Bytes block() {
    const std::size_t bytes = count(1);
    Bytes value(from_.begin() + static_cast<std::ptrdiff_t>(at_),
                from_.begin() + static_cast<std::ptrdiff_t>(at_ + bytes));
    at_ += bytes;
    return value;
  }
  [[nodiscard]] std::size_t left() const { return from_.size() - at_; }
  [[nodiscard]] bool sound() const { return sound_; }

 private:
  bool has(std::uint64_t bytes) {
    if (bytes > left()) sound_ = false;
    return sound_;
  }
  std::span<const std::uint8_t> from_;
  std::size_t at_ = 0;
  bool sound_ = true;
};

}  // namespace shakedown::checkpoint
