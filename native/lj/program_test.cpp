// What must be true of the program as a whole: its exit codes and its events.
#include <string>

#include "common/check.hpp"
#include "common/ran.hpp"

namespace {

void expect(shakedown::Checks& checks, const std::string& arguments, int code, const std::string& part) {
  const auto ran = shakedown::run_command(std::string(PROGRAM) + " " + arguments);
  checks.equal(ran.code, code, arguments + ": exit code");
  checks.that(ran.says(part), arguments + ": prints '" + part + "': " + ran.text);
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
