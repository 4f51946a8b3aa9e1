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

/// Give each thread that works in `call` a CPU of its own where exactly as many work as there are `cpus`, the caller
/// taking the first. Where the library makes new threads at each call, or more or fewer work, all keep the whole set:
/// a new thread would inherit its maker's single CPU. Returns whether each has its own now.
inline bool bind_each(const std::vector<int>& cpus, const std::function<void()>& call) {
  bind_all(cpus);
  call();
  const auto before = thread_times();
  call();
  const auto after = thread_times();
  std::uint64_t longest = 0;
  for (const auto& [task, time] : after) {
    if (!before.contains(task)) return false;
    longest = std::max(longest, time - before.at(task));
  }
  for (const auto& [task, time] : before) {
    if (!after.contains(task)) return false;
  }
  const int self = static_cast<int>(syscall(SYS_gettid));  // the C library's gettid() is younger than some sites'
  std::vector<int> workers;
  if (after.contains(self)) workers.push_back(self);
  for (const auto& [task, time] : after) {
    if (task != self && 2 * (time - before.at(task)) > longest) workers.push_back(task);
  }
  if (workers.size() != cpus.size()) return false;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (!bind_task(workers[i], {cpus[i]})) {
      bind_all(cpus);
      return false;
    }
  }
  return true;
}

}  // namespace shakedown::gemm
