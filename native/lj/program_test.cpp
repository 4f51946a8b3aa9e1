// What must be true of the program as a whole: its exit codes and its events.
#include <string>

#include "testing/expect_program.hpp"
#include "testing/sanitized.hpp"

int main() {
  shakedown::Checks checks;
  const std::string particles = shakedown::kSanitized ? "420" : "1000";
  const std::string steps = shakedown::kSanitized ? "--steps 5 --equilibrate 10 " : "--steps 20 --equilibrate 40 ";
  const std::string small = "--particles " + particles + " --threads 1 --samples 2 " + steps;
  expect(checks, small, 0, "\"ok\":true");
  expect(checks, small + "--precision mixed,fp64 --isa plain", 0, "\"isa\":\"plain\"");
  expect(checks, small + "--start random --skin 0.4 --write /dev/null", 0,
         shakedown::kSanitized ? "\"particle_steps\":2100," : "\"particle_steps\":20000,");
  expect(checks, small + "--no-verify", 0, "\"ok\":true");
  expect(checks, small + "--break-force 0.01", 1, "\"ok\":false",
         "lj: 1 of 1 checks failed; the first: lj {\"n\":" + particles);
  expect(checks, small + "--write /nowhere/data", 2, "--write: cannot write /nowhere/data");
  expect(checks, small + "--write /dev/full", 3, "\"kernel\":\"lj\"", "\"event\":\"end\"");
  expect(checks, "--particles 100 --threads 1", 2, "too small", "ask for at least 371 particles");
  expect(checks, "--particles 371 --threads 1 --samples 1 --steps 2 --equilibrate 2", 0, "\"ok\":true");
  expect(checks, small + "--dt 0.1", 2, "at most 0.00956 at temperature 1.2");
  expect(checks, small + "--dt 0", 2, "above 0");
  expect(checks, small + "--dt inf", 2, "is not a finite number");
  expect(checks, small + "--density 3", 2, "from 0.001 to 1.2");
  expect(checks, small + "--cutoff 100", 2, "from 1 to 20");
  expect(checks, "--particles 2000000000 --threads 1", 3, "ask for");
  expect(checks, "--threads 0", 2, "--threads '0'");
  expect(checks, "--precision fp32", 2, "known: mixed, fp64");
  expect(checks, "--start cubic", 2, "known: fcc, random");
  expect(checks, "--isa avx", 2, "unknown instruction set");
  expect(checks, "--particle 1000", 2, "did you mean --particles?");
  return checks.end();
}
