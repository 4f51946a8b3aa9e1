// Runs a schedule on pinned threads against an absolute clock, and tells when each edge really was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probe/probe.hpp"
#include "schedule.hpp"

namespace shakedown::load {

struct Options {
  std::vector<int> cpus;
  bool evenly = false;
  std::int64_t slot_ns = 1'000'000;  // within which a thread works its share and sleeps the rest
  std::int64_t start_unix_ns = 0;    // of the first segment; 0: as soon as all threads are ready
};

/// The begin of a segment as it was: the mean over the threads whose work changed there.
struct Edge {
  std::int64_t unix_ns = 0;
  double late_s = 0;  // of the last thread, against the schedule
};

struct Driven {
  std::vector<Edge> edges;  // one for each segment, and the end of the last
  double flop = 0;
  double asked_s = 0;   // thread seconds of work that the schedule asks for
  double worked_s = 0;  // thread seconds that the threads spent at it
  double on_cpu_s = 0;  // of which on a CPU: the rest other programs took
  double defect = 0;    // largest difference from the exact result of any slice of work
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// Told of each edge soon after it was, in order, from a thread of its own that never shares the load's: (index of the
/// segment that begins there, or the number of segments at the end; when). It must not throw.
using Watch = std::function<void(std::size_t, std::int64_t unix_ns)>;

/// Drive the schedule with multiply-adds of `kernel`. Throws where a CPU is refused.
Driven drive(const Schedule& schedule, const probe::Kernel& kernel, const Options& options, const Watch& watch);

}  // namespace shakedown::load
