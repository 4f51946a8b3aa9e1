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

/// How work ended that all ranks of a job are to hear of.
struct Caught {
  int code = kOk;
  std::string text;
};

/// Runs `work`: an Error becomes what it says.
template <class Work>
Caught caught(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.code, error.what()};
  }
  return {};
}

/// What main does in a program of one process: the exit code of `run`, or that of an exception, which is one line on
/// standard error. `tells`: whether this process tells of an Error, which every rank of a job has alike. Programs of
/// MPI ranks have mpi_main (job.hpp).
int run_main(const char* program, int argc, char** argv, int (*run)(int argc, char** argv), bool tells = true);

}  // namespace shakedown
