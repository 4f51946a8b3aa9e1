// What the user asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "problem.hpp"

namespace shakedown::hydro {

/// What --inject spoils in the middle of the measurement.
enum class Inject : std::uint8_t { nothing, mass, momentum, energy, nan };

/// What --checkpoint-... asks for; without a folder there are none.
struct CheckpointOptions {
  std::string local, global;
  /// Of this rank; empty: the host's name, and an address found by it.
  std::string node, address;
  int level = 0;           // 1 to 4
  std::int64_t every = 1;  // samples; 0: where the library says that one is due
  [[nodiscard]] bool asked() const { return !local.empty() || !global.empty(); }
};

/// What --levels asks for: the cost of checkpoints of these levels, in pairs of segments with one and without.
struct CostOptions {
  std::vector<std::int64_t> levels;  // none: not asked for
  std::string directory, local_directory;
  std::int64_t pairs = 5, restarts = 3;
  double interval_s = 0;  // of a segment; 0: by how long a checkpoint is written
  [[nodiscard]] bool asked() const { return !levels.empty(); }
};

struct Options {
  std::vector<std::int64_t> n;
  Problem problem = Problem::blast;
  int threads = 0, rank_columns = 0;
  std::string isa, cpus;
  std::int64_t samples = 10, steps = 0;
  double seconds = 0;
  bool verify = true, allow_oversubscribe = false;
  Inject inject = Inject::nothing;
  std::int64_t until = 0;  // the step at which the gas ends; 0: as samples and seconds say
  CheckpointOptions checkpoint;
  CostOptions cost;
};

/// Throws a usage error for what cannot be meant.
Options read_options(int argc, char** argv);

}  // namespace shakedown::hydro
