#include "settings.hpp"

#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace shakedown::checkpoint {
namespace {

struct Option {
  const char* name;
  std::string Settings::*text = nullptr;
  int Settings::*whole = nullptr;
  double Settings::*real = nullptr;
  bool Settings::*flag = nullptr;
  double least = 0;
  int interval = 0;
  bool while_open;
};

constexpr Option kOptions[] = {
    {.name = "local", .text = &Settings::local, .while_open = false},
    {.name = "global", .text = &Settings::global, .while_open = false},
    {.name = "node", .text = &Settings::node, .while_open = false},
    {.name = "domain", .text = &Settings::domain, .while_open = false},
    {.name = "address", .text = &Settings::address, .while_open = false},
    {.name = "group_size", .whole = &Settings::group_size, .least = 2, .while_open = false},
    {.name = "group_losses", .whole = &Settings::group_losses, .least = 1, .while_open = false},
    {.name = "keep", .whole = &Settings::keep, .least = 2, .while_open = true},
    {.name = "synchronous", .flag = &Settings::synchronous, .while_open = true},
    {.name = "mtti_seconds", .real = &Settings::mtti_seconds, .least = 0, .while_open = true},
    {.name = "timeout_seconds", .real = &Settings::timeout_seconds, .least = 1e-3, .while_open = true},
    {.name = "interval_seconds.1", .interval = 1, .while_open = true},
    {.name = "interval_seconds.2", .interval = 2, .while_open = true},
    {.name = "interval_seconds.3", .interval = 3, .while_open = true},
    {.name = "interval_seconds.4", .interval = 4, .while_open = true},
};

Outcome invalid(const std::string& name, const std::string& value, const std::string& wanted) {
  return failed(SHAKEDOWN_CKPT_INVALID, "option " + name + ": '" + value + "' is not valid: " + wanted);
}

Outcome set(Settings& settings, const Option& option, const std::string& value) {
  if (option.text != nullptr) {
    settings.*option.text = value;
    return {};
  }
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number)) {
    return invalid(option.name, value, "a number is needed");
  }
  if (option.interval > 0) {
    settings.interval_seconds[static_cast<std::size_t>(option.interval)] = number;
    return {};
  }
  if (number < option.least || number > 1e9) {
    return invalid(option.name, value, "it is at least " + std::to_string(option.least) + " and at most 1e9");
  }
  if (option.real != nullptr) settings.*option.real = number;
  if (option.whole != nullptr) settings.*option.whole = static_cast<int>(number);
  if (option.flag != nullptr) settings.*option.flag = number != 0;
  return {};
}

std::string variable_of(const std::string& name) {
  std::string variable = "SHAKEDOWN_CKPT_";
  for (const char letter : name) {
    variable += letter == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return variable;
}

std::string text_of(const char* given) { return given == nullptr ? "" : given; }

Settings copied(const shakedown_ckpt_options& options) {
  Settings settings;
  settings.local = text_of(options.local);
  settings.global = text_of(options.global);
  settings.node = text_of(options.node);
  settings.domain = text_of(options.domain);
  settings.address = text_of(options.address);
  settings.group_size = options.group_size;
  settings.group_losses = options.group_losses;
  settings.keep = options.keep;
  settings.synchronous = options.synchronous != 0;
  settings.mtti_seconds = options.mtti_seconds;
  for (std::size_t level = 1; level < 5; ++level) settings.interval_seconds[level] = options.interval_seconds[level];
  settings.timeout_seconds = options.timeout_seconds;
  return settings;
}

Outcome checked(const Settings& settings) {
  for (const Option& option : kOptions) {
    double value = option.least;
    if (option.whole != nullptr) value = settings.*option.whole;
    if (option.real != nullptr) value = settings.*option.real;
    if (option.interval > 0) value = settings.interval_seconds[static_cast<std::size_t>(option.interval)];
    const bool low = option.interval == 0 && value < option.least;
    if (!std::isfinite(value) || low) {
      return invalid(option.name, std::to_string(value), "it is at least " + std::to_string(option.least));
    }
  }
  if (settings.local.empty() && settings.global.empty()) {
    return failed(SHAKEDOWN_CKPT_INVALID,
                  "neither a local nor a global folder is named: set one of the options local and global");
  }
  if (settings.local == settings.global) {
    return failed(SHAKEDOWN_CKPT_INVALID,
                  "the local and the global folder are the same, " + settings.local + ": give each its own");
  }
  if (settings.group_losses >= settings.group_size) {
    return failed(SHAKEDOWN_CKPT_INVALID, "group_losses is not below group_size");
  }
  return {};
}

}  // namespace

Outcome set_by_name(Settings& settings, const std::string& name, const std::string& value, bool while_open) {
  for (const Option& option : kOptions) {
    if (name != option.name) continue;
    if (while_open && !option.while_open) {
      return failed(SHAKEDOWN_CKPT_INVALID, "option " + name + " cannot change while the handle is open");
    }
    return set(settings, option, value);
  }
  return failed(SHAKEDOWN_CKPT_INVALID, "there is no option " + name);
}

Outcome settings_of(const shakedown_ckpt_options* options, Settings& settings) {
  if (options != nullptr && options->struct_bytes != sizeof *options) {
    return failed(SHAKEDOWN_CKPT_INVALID, "struct_bytes of the options is " + std::to_string(options->struct_bytes) +
                                              ", not " + std::to_string(sizeof *options) +
                                              ": call shakedown_ckpt_options_init");
  }
  settings = options == nullptr ? Settings{} : copied(*options);
  for (const Option& option : kOptions) {
    const char* value = std::getenv(variable_of(option.name).c_str());
    if (value == nullptr) continue;
    if (Outcome put = set(settings, option, value); !put.good()) return put;
  }
  if (settings.node.empty()) {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    settings.node = host;
  }
  if (settings.domain.empty()) settings.domain = settings.node;
  return checked(settings);
}

}  // namespace shakedown::checkpoint
