// One run of the sweep: repeat, check, lay beside the ceiling; or its windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ceiling.hpp"
#include "common/emit.hpp"
#include "factor.hpp"
#include "world.hpp"

namespace shakedown::hpl {

/// Some panels of a matrix of order `order`.
struct Window {
  double order = 0, panels = 0, flop = 0, seconds = 0;
  TimeSpan span;
};

/// What a group of ranks found for one run. The group's first rank holds it.
struct Report {
  std::vector<double> seconds;  // of each repeat, the largest over the ranks
  std::vector<TimeSpan> spans;  // of each repeat
  System::Check check;
  bool checked = false;
  Shares shares;  // of all threads of all ranks
  double ceiling_flop = 0;
  std::vector<double> ceiling_seconds;
  std::vector<TimeSpan> ceiling_spans;
  std::vector<Window> windows;
  double clock_hz[2] = {0, 0};  // of the slowest thread, before and after
};

/// What stays for all runs of a program.
struct Bench {
  const Options& options;
  const World& world;
  const Blas& blas;
  const Kernels& loops;
  Team& team;
  Emitter& emitter;
  std::unique_ptr<System> system;  // of the last run: the next may use it again
  Config shape;                    // what it was made for
};

/// Whether the memory of one run serves another.
bool fits(const Config& made, const Config& wanted);

/// Ranks outside the grid return an empty report. Every rank of the group calls it.
Report run(Bench& bench, const Config& config);

/// Throw "could not measure", on every rank of the world alike, where the run does not fit the memory of a host.
void require_room(const World& world, const Config& config, int threads);

/// The largest N that the options allow, on every rank alike.
Index choose_n(Bench& bench, const Config& config);

/// 2/3 N^3 + 3/2 N^2: netlib's count.
double flop_count(Index n);

}  // namespace shakedown::hpl
