// Command-line arguments: --name value, each declared once with its help, its default and its range.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "error.hpp"

namespace shakedown {

/// Declare with flag/text/integer/real/list while reading; then finish() refuses what was not declared.
class Args {
 public:
  Args(int argc, char** argv, std::string about);

  bool flag(const std::string& name, const std::string& help);

  std::string text(const std::string& name, const std::string& otherwise, const std::string& help);

  std::int64_t integer(const std::string& name, std::int64_t otherwise, std::int64_t low, const std::string& help,
                       std::int64_t high = std::numeric_limits<std::int64_t>::max());

  /// A finite number from `low` to `high`.
  double real(const std::string& name, double otherwise, double low, const std::string& help,
              double high = std::numeric_limits<double>::max());

  /// Integers between commas, such as 1,2,4; empty where nothing was given and `otherwise` is empty.
  std::vector<std::int64_t> integers(const std::string& name, const std::string& otherwise, std::int64_t low,
                                     const std::string& help);

  std::vector<std::string> words(const std::string& name, const std::string& otherwise, const std::string& help);

  /// Print the help and leave where it was asked for; refuse arguments that nobody declared.
  void finish() const;

 private:
  static std::string shown(double number);

  static std::int64_t parse_integer(const std::string& name, const std::string& word, std::int64_t low,
                                    std::int64_t high);

  void declare(const std::string& name, const std::string& otherwise, const std::string& help);

  /// The declared name that at most half of the letters differ from, the nearest one; empty where all are further.
  [[nodiscard]] std::string nearest(const std::string& name) const;

  std::string about_;
  std::string help_text_;
  std::vector<std::string> declared_;
  std::map<std::string, std::string> given_;
  bool help_ = false;
};

/// What a word names, of pairs of a name and a value. Throws a usage error that lists the names; `what` says what the
/// word was to name, such as "damage".
template <class Named>
auto named(const std::string& word, const std::string& what, const Named& kinds) {
  std::string known;
  for (const auto& [name, kind] : kinds) {
    if (word == name) return kind;
    known += std::string(known.empty() ? "" : ", ") + name;
  }
  throw usage("unknown " + what + " '" + word + "'", "known: " + known);
}

}  // namespace shakedown
