#include "error.hpp"

#include <cstdio>
#include <exception>

namespace shakedown {

Error::Error(ExitCode exit_code, const std::string& what, const std::string& hint)
    : std::runtime_error(hint.empty() ? what : what + "\n  next: " + hint), code(exit_code) {}

Error usage(const std::string& what, const std::string& hint) { return {kUsage, what, hint}; }

Error cannot(const std::string& what, const std::string& hint) { return {kCouldNotMeasure, what, hint}; }

int run_main(const char* program, int argc, char** argv, int (*run)(int argc, char** argv), bool tells) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    if (tells) std::fprintf(stderr, "%s: %s\n", program, error.what());
    return error.code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return kCouldNotMeasure;
  }
}

}  // namespace shakedown
