// What must be true of the program as a whole: its exit codes and its events.
#include <string>

#include "testing/expect_program.hpp"

int main() {
  shakedown::Checks checks;
  const std::string small = "--nx 16 --threads 1 --samples 2 --triad-bytes 65536 ";
  expect(checks, small, 0, "\"ok\":true", "hpcg.unofficial");
  expect(checks, small + "--isa plain --ny 24", 0, "\"isa\":\"plain\"", "\"ny\":24");
  expect(checks, "--nx 16 --threads 2 --allow-oversubscribe --samples 1 --triad-bytes 65536", 0,
         "\"kernel\":\"symgs\"");
  expect(checks, small + "--no-verify", 0, "\"ok\":true");
  for (const char* kind : {"value", "column", "nan"}) {
    expect(checks, small + "--inject " + kind, 1, "of grid 0 (point", "checks failed");
  }
  expect(checks, small + "--samples 1 --inject solution", 1, "checks failed");
  expect(checks, small + "--inject spin", 2, "known: value, column, nan, solution");
  expect(checks, "--nx 12", 2, "not a multiple of 8");
  expect(checks, "--nx 8", 2, "not a multiple of 8 from 16 on");
  expect(checks, "--nx 16 --nz 20", 2, "--nz 20");
  expect(checks, "--nx 1024 --threads 1", 3, "1024 x 1024 x 1024 points of each rank");
  expect(checks, small + "--cpus 99999", 2, "may not be used");
  expect(checks, small + "--isa avx", 2, "unknown instruction set");
  expect(checks, "--nxx 16", 2, "did you mean --nx?");
  return checks.end();
}
