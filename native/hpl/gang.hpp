// Threads that work on one panel together, and waiting that leaves the CPU to others when it is shared.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "common/team.hpp"

namespace shakedown::hpl {

/// Call while waiting in a loop: spins at first, then yields, so that with more threads than CPUs the one waited for
/// runs.
class Patience {
 public:
  void wait() {
    if (++spins_ < kSpins) {
      cpu_relax();
    } else {
      sched_yield();
    }
  }

 private:
  static constexpr int kSpins = 2000;
  int spins_ = 0;
};

/// A lock for a few instructions.
class SpinLock {
 public:
  void lock() {
    Patience patience;
    while (taken_.test_and_set(std::memory_order_acquire)) patience.wait();
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_;
};

/// A barrier for so many threads as each call says.
class Barrier {
 public:
  void wait(int members) {
    if (members == 1) return;
    const auto round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    Patience patience;
    while (round_.load(std::memory_order_acquire) == round) patience.wait();
  }

 private:
  alignas(128) std::atomic<int> arrived_{0};
  alignas(128) std::atomic<std::uint32_t> round_{0};
};

}  // namespace shakedown::hpl
