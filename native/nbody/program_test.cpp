// What must be true of the program as a whole: its exit codes and its events.
#include <string>

#include "testing/expect_program.hpp"

int main() {
  shakedown::Checks checks;
  const std::string small = "--bodies 600 --threads 1 --samples 2 --steps 3 ";
  expect(checks, small, 0, "\"ok\":true");
  expect(checks, small + "--precision fp32,fp64 --isa plain", 0, "\"interactions\":1080000,\"flop\":21600000");
  expect(checks, small + "--bodies 2", 0, "\"n\":2");
  expect(checks, small + "--no-verify", 0, "\"ok\":true");
  expect(checks, small + "--break-force 0.001", 1, "\"ok\":false",
         "nbody: 1 of 1 checks failed; the first: nbody {\"n\":600");
  expect(checks, small + "--break-force 0.001 --no-verify", 0, "\"ok\":true");
  expect(checks, "--bodies 1073741824 --threads 1 --precision fp64", 3, "are left by");
  expect(checks, small + "--dt inf", 2, "is not a finite number");
  expect(checks, small + "--dt 1", 2, "above 0.0833, an eighth of the shortest orbit of 600 bodies");
  expect(checks, small + "--dt 0.083 --steps 40", 0, "\"ok\":true");
  expect(checks, small + "--softening 0.00001", 2, "an eighth of the shortest orbit");
  expect(checks, "--bodies 1", 2, "--bodies '1'");
  expect(checks, "--threads 0", 2, "--threads '0'");
  expect(checks, "--precision double", 2, "known: fp32, fp64");
  expect(checks, "--softening 0", 2, "--softening '0'");
  expect(checks, "--isa avx", 2, "unknown instruction set");
  expect(checks, "--body 1000", 2, "did you mean --bodies?");
  return checks.end();
}
