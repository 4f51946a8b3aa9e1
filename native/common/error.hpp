// Errors that end a program: one line for the user, and the exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace shakedown {

enum ExitCode : int { kOk = 0, kCheckFailed = 1, kUsage = 2, kCouldNotMeasure = 3 };

/// What was wrong and what to do next; `code` becomes the exit code.
struct Error : std::runtime_error {
  Error(ExitCode exit_code, const std::string& what, const std::string& hint = "");
  ExitCode code;
};

Error usage(const std::string& what, const std::string& hint = "");
Error cannot(const std::string& what, const std::string& hint = "");

}  // namespace shakedown
