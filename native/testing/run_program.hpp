// Running a program in a native test and looking at what it said.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace shakedown {

/// What became of a program.
struct Ran {
  int code = -1;     // exit code, or 1000 + signal
  std::string text;  // both streams
  [[nodiscard]] bool says(const std::string& words) const { return text.find(words) != std::string::npos; }
  [[nodiscard]] int count(const std::string& words) const {
    int found = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
  }
};

/// Run a command: words of a shell, environment first ("FAKE_CUDA='devices 2' PROGRAM --arguments").
inline Ran run_command(const std::string& command) {
  Ran ran;
  // exec: the program's own end is seen, not a shell's account of it
  FILE* const pipe = popen(("exec env " + command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> block{};
  for (std::size_t got = 0; (got = std::fread(block.data(), 1, block.size(), pipe)) > 0;)
    ran.text.append(block.data(), got);
  const int status = pclose(pipe);
  ran.code = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  return ran;
}

}  // namespace shakedown
