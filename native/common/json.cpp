#include "json.hpp"

#include <charconv>
#include <cmath>

namespace shakedown {

std::string quote(std::string_view word) {
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

std::string to_json(const Json& json) { return json.text; }

std::string to_json(std::string_view word) { return quote(word); }

std::string to_json(const char* word) { return quote(word); }

std::string to_json(const std::string& word) { return quote(word); }

std::string to_json(bool truth) { return truth ? "true" : "false"; }

std::string to_json(std::int64_t number) { return std::to_string(number); }

std::string to_json(std::uint64_t number) { return std::to_string(number); }

std::string to_json(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return {text, end};
}

Json Object::json() const { return {'{' + body_ + '}'}; }

Object& Object::put(std::string_view name, const std::string& json) {
  if (!body_.empty()) body_ += ',';
  body_ += quote(name) + ':' + json;
  return *this;
}

std::string to_json(const Object& object) { return object.json().text; }

}  // namespace shakedown
