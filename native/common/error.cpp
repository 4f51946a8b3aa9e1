#include "error.hpp"

namespace shakedown {

Error::Error(ExitCode exit_code, const std::string& what, const std::string& hint)
    : std::runtime_error(hint.empty() ? what : what + "\n  next: " + hint), code(exit_code) {}

Error usage(const std::string& what, const std::string& hint) { return {kUsage, what, hint}; }

Error cannot(const std::string& what, const std::string& hint) { return {kCouldNotMeasure, what, hint}; }

}  // namespace shakedown
