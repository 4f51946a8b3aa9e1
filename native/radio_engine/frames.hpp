// Frames on pipes: a line of JSON, then as many bytes as it says under "bytes". Requests are flat objects of numbers,
// texts and truths; replies are whatever the program writes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.hpp"

namespace shakedown::radio {

/// A request: its fields and its bytes.
class Request {
 public:
  /// Throws a usage error for what is not a flat object of JSON.
  explicit Request(std::string_view line);

  [[nodiscard]] const std::string& text(const std::string& name) const;
  /// A finite number. Throws a usage error where it is absent or none.
  [[nodiscard]] double real(const std::string& name) const;
  /// A whole number from 0 to `most`.
  [[nodiscard]] std::size_t count(const std::string& name, std::size_t most) const;
  [[nodiscard]] bool has(const std::string& name) const { return numbers_.contains(name) || texts_.contains(name); }

  std::vector<std::byte> bytes;
  /// `count` numbers of T at `offset`. Throws a usage error where the bytes end before them.
  template <class T>
  [[nodiscard]] std::vector<T> numbers(std::size_t offset, std::size_t count) const {
    std::vector<T> read(count);
    copy(offset, std::as_writable_bytes(std::span(read)));
    return read;
  }

 private:
  void copy(std::size_t offset, std::span<std::byte> to) const;

  std::map<std::string, double> numbers_;
  std::map<std::string, std::string> texts_;
};

/// The most bytes of a request: the places of 65,534 radios, and room.
constexpr std::size_t kMostRequestBytes = std::size_t{16} << 20;

/// Reads requests from a pipe, one after the other.
class Reader {
 public:
  explicit Reader(int file) : file_(file) {}
  /// The next line, or false where the pipe ended between two frames. Throws a usage error where it ends within a line,
  /// or the line is longer than 64 KiB.
  bool line(std::string& line);
  /// The bytes behind the line. Throws a usage error where the pipe ends before them.
  void bytes(std::span<std::byte> to);

 private:
  std::size_t fill(std::span<std::byte> to) const;

  int file_;
  std::vector<std::byte> held_;
  std::size_t begin_ = 0;
};

/// A part of a reply's bytes.
using Bytes = std::span<const std::byte>;

/// Writes a reply: `fields` with "ok" and "bytes", then the parts. Throws "could not measure" where nobody reads.
void write_reply(int file, Object fields, std::span<const Bytes> parts = {});
/// Writes that a request was refused: why, what next, and the exit code that it would have had.
void write_refusal(int file, const std::string& what, int code);

}  // namespace shakedown::radio
