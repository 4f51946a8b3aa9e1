// Stands in front of a rank's program: starts it, watches it by /proc, and leaves what it saw in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launched_rank.hpp"

namespace shakedown::placement {

struct Options {
  std::string folder;       // where the record goes
  std::string arrange;      // empty: as launched
  int threads = 1;          // busy threads of a rank, for `arrange`
  double period_s = 0.02;   // between two looks, at least
  std::vector<char*> argv;  // the program, with a null behind its last argument
};

/// How the program ended: its own exit code, or 128 + the signal.
struct Ended {
  int code = 0;
  int signal = 0;
};

/// Start the program, watch it to its end, write the record. The signals that this process gets go on to it. A record
/// that cannot be written costs the record and a line on standard error, never the program.
Ended watch(const Options& options, const LaunchedRank& rank);

}  // namespace shakedown::placement
