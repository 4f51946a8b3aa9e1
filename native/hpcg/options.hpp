// What the user asks for.
#pragma once

#include <cstdint>
#include <string>

#include "grid.hpp"

namespace shakedown::hpcg {

/// What --inject spoils after the first set.
enum class Inject : std::uint8_t { nothing, value, column, nan, solution };

struct Options {
  Triple n;  // points of each rank
  int threads = 0;
  std::string isa, cpus;
  std::int64_t samples = 3, triad_bytes = 0;
  double seconds = 0;
  bool verify = true, allow_oversubscribe = false;
  Inject inject = Inject::nothing;
};

/// Throws a usage error for what cannot be meant.
Options read_options(int argc, char** argv);

}  // namespace shakedown::hpcg
