// What must be true of the program as a whole: its exit codes and its events.
#include <string>

#include "testing/expect_program.hpp"

int main() {
  shakedown::Checks checks;
  const std::string small = "--n 40 --threads 1 --samples 2 --steps 4 ";
  expect(checks, small, 0, "\"ok\":true", "\"cell_steps\":6400");
  expect(checks, small + "--isa plain --problem checkers", 0, "\"isa\":\"plain\"");
  expect(checks, "--n 40,41 --threads 2 --allow-oversubscribe --samples 1 --steps 4 --problem sod_y", 0,
         "exact_solution");
  expect(checks, small + "--no-verify", 0, "\"ok\":true");
  for (const char* kind : {"mass", "momentum", "energy", "nan"}) {
    expect(checks, small + "--inject " + kind, 1, "hydro: 1 of 1 checks failed");
  }
  expect(checks, small + "--inject spin", 2, "known: mass, momentum, energy, nan");
  expect(checks, small + "--problem kelvin", 2, "known: blast, sod_x, sod_y, checkers");
  expect(checks, "--n 3", 2, "--n '3'");
  expect(checks, "--n 1000001", 2, "above 1000000");
  expect(checks, "--n 1000000 --threads 1", 3, "1000000 x 1000000 cells, twice");
  expect(checks, small + "--rank-columns 2", 2, "does not divide 1 ranks");
  expect(checks, small + "--cpus 99999", 2, "may not be used");
  expect(checks, small + "--isa avx", 2, "unknown instruction set");
  expect(checks, "--problen blast", 2, "did you mean --problem?");
  // The cost of checkpoints, on one rank: a node of its own with a global folder.
  const std::string cost = "--n 40 --threads 1 --pairs 2 --restarts 2 --interval 0.02 --directory /tmp ";
  expect(checks, cost + "--levels 1,4", 0, "\"kernel\":\"restart\"", "\"restored_level\":4");
  expect(checks, cost + "--levels 1 --inject mass", 1, "restarts whose state is not that which was saved");
  expect(checks, cost + "--levels 2", 2, "need two nodes");
  expect(checks, cost + "--levels 5", 2, "there is no level 5");
  expect(checks, cost + "--levels 1 --until 8 --steps 4", 2, "makes checkpoints of its own");
  expect(checks, "--n 40 --threads 1 --levels 1 --directory /nowhere", 3, "no folder can be made in /nowhere");
  return checks.end();
}
