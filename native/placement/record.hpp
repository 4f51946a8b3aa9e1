// The record of a rank: what Python reads.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "launched_rank.hpp"
#include "observer.hpp"

namespace shakedown::placement {

/// Microseconds in which something waited for a CPU on this host, of /proc/pressure/cpu; nothing where it is not there.
std::optional<std::uint64_t> pressure_us();

struct Record {
  LaunchedRank rank;
  std::string arrange;
  std::vector<std::string> argv;
  std::vector<int> launched_mask;  // as the launcher left it
  std::vector<int> reachable;      // the CPUs of this host that a rank may be on
  std::vector<CpuPlace> places;    // of those
  std::vector<int> arranged;       // what the program began with, where that was arranged
  std::int64_t begin_unix_ns = 0;
  double wall_s = 0;
  double period_s = 0;
  double own_cpu_s = 0;  // what watching has cost
  std::optional<std::uint64_t> pressure_us;
  bool finished = false;
  int exit_code = 0;
  int signal = 0;
  rusage usage{};
};

/// Written to a temporary name and renamed. Throws where that fails.
void write_record(const std::string& path, const Record& record, const Observer& seen);

}  // namespace shakedown::placement
