// The options of checkpoint.h as the library keeps them, after the environment had its say.
#pragma once

#include <array>
#include <string>

#include "include/shakedown/checkpoint.h"
#include "outcome.hpp"

namespace shakedown::checkpoint {

struct Settings {
  std::string local;
  std::string global;
  std::string node;
  std::string domain;
  std::string address;
  int group_size = 8;
  int group_losses = 2;
  int keep = 2;
  bool synchronous = false;
  double mtti_seconds = 0;
  std::array<double, 5> interval_seconds = {};
  double timeout_seconds = 120;
};

/// INVALID where an option or a variable of the environment is not valid. Null options: all as they are by default.
Outcome settings_of(const shakedown_ckpt_options* options, Settings& settings);

/// Sets one by its name, from text: INVALID where it is unknown or the text is not valid. `while_open`: only those that
/// may change then.
Outcome set_by_name(Settings& settings, const std::string& name, const std::string& value, bool while_open);

}  // namespace shakedown::checkpoint
