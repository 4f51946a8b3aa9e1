// What must be true of the program as a whole: its exit codes and its events.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "common/check.hpp"

namespace {

struct Ended {
  int code = -1;
  std::string out;
};

Ended run(const std::string& arguments) {
  const std::string command = std::string(PROGRAM) + " " + arguments + " 2>&1";
  Ended ended;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) ended.out.append(part.data(), n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

void expect(shakedown::Checks& checks, const std::string& arguments, int code, const std::string& part) {
  const auto ended = run(arguments);
  checks.equal(ended.code, code, arguments + ": exit code");
  checks.that(ended.out.find(part) != std::string::npos, arguments + ": prints '" + part + "': " + ended.out);
}

}  // namespace

int main() {
  shakedown::Checks checks;
  const std::string small = "--particles 1000 --threads 1 --samples 2 --steps 20 --equilibrate 40 ";
  expect(checks, small, 0, "\"ok\":true");
  expect(checks, small + "--precision mixed,fp64 --isa plain", 0, "\"isa\":\"plain\"");
  expect(checks, small + "--start random --skin 0.4 --write /dev/null", 0, "\"particle_steps\":20000");
  expect(checks, small + "--no-verify", 0, "\"ok\":true");
  expect(checks, small + "--break-force 0.01", 1, "\"ok\":false");
  expect(checks, small + "--write /nowhere/data", 3, "cannot write");
  expect(checks, "--particles 100 --threads 1", 3, "too small");
  expect(checks, "--particles 2000000000 --threads 1", 3, "ask for");
  expect(checks, "--threads 0", 2, "--threads '0'");
  expect(checks, "--precision fp32", 2, "known: mixed, fp64");
  expect(checks, "--start cubic", 2, "known: fcc, random");
  expect(checks, "--isa avx", 2, "unknown instruction set");
  expect(checks, "--particle 1000", 2, "did you mean --particles?");
  return checks.end();
}
