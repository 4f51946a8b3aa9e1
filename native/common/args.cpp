#include "args.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace shakedown {

Args::Args(int argc, char** argv, std::string about) : about_(std::move(about)) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      help_ = true;
      continue;
    }
    if (!word.starts_with("--")) throw usage("argument '" + word + "' does not begin with --", "see --help");
    const auto equals = word.find('=');
    if (equals != std::string::npos) {
      given_[word.substr(2, equals - 2)] = word.substr(equals + 1);
    } else if (i + 1 < argc && !std::string_view(argv[i + 1]).starts_with("--")) {
      given_[word.substr(2)] = argv[++i];
    } else {
      given_[word.substr(2)] = "";
    }
  }
}

bool Args::flag(const std::string& name, const std::string& help) {
  declare(name, "", help);
  return given_.contains(name);
}

std::string Args::text(const std::string& name, const std::string& otherwise, const std::string& help) {
  declare(name, otherwise, help);
  const auto found = given_.find(name);
  if (found == given_.end()) return otherwise;
  if (found->second.empty()) throw usage("--" + name + " needs a value", help);
  return found->second;
}

std::int64_t Args::integer(const std::string& name, std::int64_t otherwise, std::int64_t low, const std::string& help,
                           std::int64_t high) {
  const std::string word = text(name, std::to_string(otherwise), help);
  return parse_integer(name, word, low, high);
}

double Args::real(const std::string& name, double otherwise, double low, const std::string& help, double high) {
  const std::string word = text(name, shown(otherwise), help);
  if (!given_.contains(name)) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !(value >= low && value <= high)) {
    const bool bounded = high != std::numeric_limits<double>::max();
    throw usage("--" + name + " '" + word + "' is not a finite number " +
                    (bounded ? "from " + shown(low) + " to " + shown(high) : "of at least " + shown(low)),
                help);
  }
  return value;
}

std::vector<std::int64_t> Args::integers(const std::string& name, const std::string& otherwise, std::int64_t low,
                                         const std::string& help) {
  std::vector<std::int64_t> values;
  for (const auto& word : words(name, otherwise, help)) {
    values.push_back(parse_integer(name, word, low, std::numeric_limits<std::int64_t>::max()));
  }
  return values;
}

std::vector<std::string> Args::words(const std::string& name, const std::string& otherwise, const std::string& help) {
  const std::string all = text(name, otherwise, help);
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < all.size();) {
    const auto comma = std::min(all.find(',', begin), all.size());
    parts.push_back(all.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

void Args::finish() const {
  if (help_) {
    std::printf("%s\n\n%s", about_.c_str(), help_text_.c_str());
    std::exit(kOk);
  }
  for (const auto& [name, value] : given_) {
    if (std::find(declared_.begin(), declared_.end(), name) == declared_.end()) {
      const std::string near = nearest(name);
      throw usage("unknown argument --" + name,
                  near.empty() ? "see --help" : "did you mean --" + near + "? see --help");
    }
  }
}

std::string Args::shown(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::int64_t Args::parse_integer(const std::string& name, const std::string& word, std::int64_t low,
                                 std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < low || value > high) {
    std::string range = "of at least " + std::to_string(low);
    if (high != std::numeric_limits<std::int64_t>::max()) range += " and at most " + std::to_string(high);
    throw usage("--" + name + " '" + word + "' is not a whole number " + range, "see --help");
  }
  return value;
}

void Args::declare(const std::string& name, const std::string& otherwise, const std::string& help) {
  if (std::find(declared_.begin(), declared_.end(), name) != declared_.end()) return;  // read in a second way
  declared_.push_back(name);
  help_text_ += "  --" + name + (otherwise.empty() ? "" : " (" + otherwise + ")") + "\n      " + help + "\n";
}

std::string Args::nearest(const std::string& name) const {
  const auto distance = [&](const std::string& other) {
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j < row.size(); ++j) {
        const std::size_t up = row[j];
        row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (name[i - 1] == other[j - 1] ? 0 : 1)});
        diagonal = up;
      }
    }
    return row.back();
  };
  const auto near = [&](const std::string& other) {  // an abbreviation of three letters or more is one, too
    return 2 * distance(other) <= std::max(name.size(), other.size()) || (name.size() >= 3 && other.starts_with(name));
  };
  const std::string* best = nullptr;
  for (const auto& other : declared_) {
    if (near(other) && (best == nullptr || distance(other) < distance(*best))) best = &other;
  }
  return best == nullptr ? "" : *best;
}

}  // namespace shakedown
