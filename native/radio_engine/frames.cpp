#include "frames.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/error.hpp"

namespace shakedown::radio {
namespace {

constexpr std::size_t kMostLine = std::size_t{64} << 10;

Error broken(const std::string& what) { return usage("a request " + what, "see native/radio_engine/README.md"); }

/// The parts of a flat object, one after the other.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool take(char expected) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  void need(char expected) {
    if (!take(expected)) throw broken(std::string("lacks a ") + expected + " at character " + std::to_string(at_));
  }
  [[nodiscard]] bool at_text() {
    blanks();
    return at_ < text_.size() && text_[at_] == '"';
  }
  /// A text: of the escapes only those of quotation marks and backslashes.
  std::string text() {
    need('"');
    std::string found;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (text_[at_] != '"' && text_[at_] != '\\') throw broken("has an escape that is not \\\" or \\\\");
      }
      found += text_[at_];
    }
    need('"');
    return found;
  }
  double number() {
    blanks();
    for (const auto& [word, value] : {std::pair{"true", 1.0}, {"false", 0.0}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::strlen(word);
        return value;
      }
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) {
      throw broken("has something that is not a finite number at character " + std::to_string(at_));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  [[nodiscard]] bool ended() {
    blanks();
    return at_ == text_.size();
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

void write_all(int file, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = write(file, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw cannot(std::string("the reply cannot be written: ") + std::strerror(errno));
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void write_line(int file, const Object& fields) {
  const std::string line = to_json(fields) + '\n';
  write_all(file, line.data(), line.size());
}

}  // namespace

Request::Request(std::string_view line) {
  Scanner scanner(line);
  scanner.need('{');
  if (!scanner.take('}')) {
    do {
      const std::string name = scanner.text();
      scanner.need(':');
      if (scanner.at_text())
        texts_[name] = scanner.text();
      else
        numbers_[name] = scanner.number();
    } while (scanner.take(','));
    scanner.need('}');
  }
  if (!scanner.ended()) throw broken("has more behind its object");
}

const std::string& Request::text(const std::string& name) const {
  const auto found = texts_.find(name);
  if (found == texts_.end()) throw broken("lacks the text '" + name + "'");
  return found->second;
}

double Request::real(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) throw broken("lacks the number '" + name + "'");
  return found->second;
}

std::size_t Request::count(const std::string& name, std::size_t most) const {
  const double value = real(name);
  if (!(value >= 0 && value <= static_cast<double>(most)) || value != std::floor(value)) {
    throw broken("has " + name + " = " + to_json(value) + ", which is not a whole number up to " +
                 std::to_string(most));
  }
  return static_cast<std::size_t>(value);
}

void Request::copy(std::size_t offset, std::span<std::byte> to) const {
  if (offset > bytes.size() || to.size() > bytes.size() - offset) {
    throw broken("has " + std::to_string(bytes.size()) + " bytes, which are too few");
  }
  if (!to.empty()) std::memcpy(to.data(), bytes.data() + offset, to.size());
}

std::size_t Reader::fill(std::span<std::byte> to) const {
  for (;;) {
    const ssize_t got = read(file_, to.data(), to.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw cannot(std::string("requests cannot be read: ") + std::strerror(errno));
  }
}

bool Reader::line(std::string& line) {
  line.clear();
  for (;;) {
    for (; begin_ < held_.size(); ++begin_) {
      if (held_[begin_] == std::byte{'\n'}) {
        ++begin_;
        return true;
      }
      if (line.size() == kMostLine) throw broken("has a line of more than 65536 characters");
      line += static_cast<char>(held_[begin_]);
    }
    held_.resize(4096);
    begin_ = 0;
    held_.resize(fill(held_));
    if (held_.empty()) {
      if (!line.empty()) throw broken("ends within its line");
      return false;
    }
  }
}

void Reader::bytes(std::span<std::byte> to) {
  const std::size_t here = std::min(to.size(), held_.size() - begin_);
  if (here > 0) std::memcpy(to.data(), held_.data() + begin_, here);
  begin_ += here;
  for (std::size_t done = here; done < to.size();) {
    const std::size_t got = fill(to.subspan(done));
    if (got == 0) throw broken("ends within its bytes");
    done += got;
  }
}

void write_reply(int file, Object fields, std::span<const Bytes> parts) {
  std::size_t bytes = 0;
  for (const Bytes part : parts) bytes += part.size();
  write_line(file, fields.add("ok", true).add("bytes", static_cast<std::uint64_t>(bytes)));
  for (const Bytes part : parts) write_all(file, part.data(), part.size());
}

void write_refusal(int file, const std::string& what, int code) {
  write_line(file, Object().add("ok", false).add("error", what).add("code", code).add("bytes", 0));
}

}  // namespace shakedown::radio
