// A JSON object or array being written: enough to emit events, with full precision and no NaN.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace shakedown {

/// Raw JSON text, to be put in as it is.
struct Json {
  std::string text;
};

std::string quote(std::string_view word);

std::string to_json(const Json& json);
std::string to_json(std::string_view word);
std::string to_json(const char* word);
std::string to_json(const std::string& word);
std::string to_json(bool truth);
std::string to_json(std::int64_t number);
std::string to_json(std::uint64_t number);
inline std::string to_json(std::integral auto number) {
  if constexpr (std::is_signed_v<decltype(number)>)
    return to_json(std::int64_t{number});
  else
    return to_json(std::uint64_t{number});
}

/// The shortest text that reads back as the same number; null where it is not finite.
std::string to_json(double number);

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
    return put(name, to_json(value));
  }
  [[nodiscard]] Json json() const;
  [[nodiscard]] bool empty() const { return body_.empty(); }

 private:
  Object& put(std::string_view name, const std::string& json);
  std::string body_;
};

std::string to_json(const Object& object);

}  // namespace shakedown
