// The threads that a library made by itself: which of them work, and one CPU for each.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "common/affinity.hpp"
#include "common/clock.hpp"

namespace shakedown::gemm {

/// Nanoseconds on a CPU so far, of each thread of this process; empty where the kernel does not tell.
inline std::map<int, std::uint64_t> thread_times() {
  std::map<int, std::uint64_t> times;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream file(task.path() / "schedstat");
    std::uint64_t nanoseconds = 0;
    if (file >> nanoseconds) times[std::stoi(task.path().filename().string())] = nanoseconds;
  }
  return times;
}

inline bool bind_task(int task, const std::vector<int>& cpus) {
  const CpuMask mask(cpus);
  return sched_setaffinity(task, CpuMask::bytes(), mask.set()) == 0;
}

/// Let every thread of this process run on all of `cpus`, and new ones too (they inherit from their maker).
inline void bind_all(const std::vector<int>& cpus) {
  bind_thread(cpus);
  for (const auto& [task, time] : thread_times()) bind_task(task, cpus);
}

/// What bind_each found and did.
struct Bound {
  bool each = false;  // every working thread has a CPU of its own
  int working = 0;    // threads that worked; 0 where the library makes new ones at each call, so that it is not known
};

/// Give each thread that works in `call` a CPU of its own where exactly as many work as there are `cpus`, the caller
/// taking the first. Where the library makes new threads at each call, or more or fewer work, all keep the whole set:
/// a new thread would inherit its maker's single CPU.
inline Bound bind_each(const std::vector<int>& cpus, const std::function<void()>& call) {
  bind_all(cpus);
  call();
  const auto before = thread_times();
  const auto process_begin = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  call();
  const auto process_ns = static_cast<std::uint64_t>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process_begin);
  const auto after = thread_times();
  std::uint64_t longest = 0, sum = 0;
  for (const auto& [task, time] : after) {
    if (!before.contains(task)) return {};
    longest = std::max(longest, time - before.at(task));
    sum += time - before.at(task);
  }
  if (10 * process_ns > 11 * sum) return {};               // threads that were made and ended within the call
  const int self = static_cast<int>(syscall(SYS_gettid));  // the C library's gettid() is younger than some sites'
  if (before.size() != after.size() || !after.contains(self)) return {};
  std::vector<int> workers = {self};
  for (const auto& [task, time] : after) {
    // A tenth: a thread that others keep off its CPU works less than those that wait for it in a loop.
    if (task != self && 10 * (time - before.at(task)) > longest) workers.push_back(task);
  }
  Bound bound{true, static_cast<int>(workers.size())};
  if (workers.size() != cpus.size()) return {false, bound.working};
  for (std::size_t i = 0; i < workers.size(); ++i) bound.each = bound.each && bind_task(workers[i], {cpus[i]});
  if (!bound.each) bind_all(cpus);
  return bound;
}

}  // namespace shakedown::gemm
