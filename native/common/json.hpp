// A JSON object or array being written: enough to emit events, with full precision and no NaN.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shakedown {

/// Raw JSON text, to be put in as it is.
struct Json {
  std::string text;
};

inline std::string quote(std::string_view word) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

inline std::string to_json(const Json& json) { return json.text; }
inline std::string to_json(std::string_view word) { return quote(word); }
inline std::string to_json(const char* word) { return quote(word); }
inline std::string to_json(const std::string& word) { return quote(word); }
inline std::string to_json(bool truth) { return truth ? "true" : "false"; }
inline std::string to_json(std::integral auto number) { return std::to_string(number); }

/// The shortest text that reads back as the same number; null where it is not finite.
inline std::string to_json(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return {text, end};
}

template <class T>
std::string to_json(std::span<const T> items) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += to_json(item);
  }
  return out + ']';
}

template <class T>
std::string to_json(const std::vector<T>& items) {
  return to_json(std::span<const T>(items));
}

/// An object, field by field: Object().add("kernel", "triad").add("bytes", 24).
class Object {
 public:
  template <class T>
  Object& add(std::string_view name, const T& value) {
    if (!body_.empty()) body_ += ',';
    body_ += quote(name) + ':' + to_json(value);
    return *this;
  }
  [[nodiscard]] Json json() const { return {'{' + body_ + '}'}; }
  [[nodiscard]] bool empty() const { return body_.empty(); }

 private:
  std::string body_;
};

inline std::string to_json(const Object& object) { return object.json().text; }

}  // namespace shakedown
