// A thread that does what may hang: operations on one folder. Whoever waits for it waits to a deadline only; a thread
// that the kernel holds in a call is left behind with what it works on, and is used again if it ever comes back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace shakedown::checkpoint {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// So many seconds from now; at most a year, so that no clock overflows.
Deadline in_seconds(double seconds);
/// Processor time of the calling thread.
double thread_cpu_seconds();

class StorageWorker {
 public:
  StorageWorker();
  ~StorageWorker();  // waits for work under way a moment only
  StorageWorker(const StorageWorker&) = delete;
  StorageWorker& operator=(const StorageWorker&) = delete;

  /// Does the work on the thread. False where `pulse` did not count on for so many seconds: the work then still runs,
  /// or, where the work before hangs, never began. It must own all that it touches.
  bool run(std::function<void()> work, double patience_seconds, const std::atomic<std::uint64_t>& pulse);

  /// The same in two steps, for who has something to do meanwhile: hands the work over, after that which is under way,
  /// and gives the ticket with which to wait for it; 0 where the work before hangs.
  std::uint64_t begin(std::function<void()> work, double patience_seconds, const std::atomic<std::uint64_t>& pulse);
  /// True when the work of this ticket ended. What it threw shows in what it left behind.
  bool end(std::uint64_t ticket, double patience_seconds, const std::atomic<std::uint64_t>& pulse);

  /// Processor time of all work that ended.
  [[nodiscard]] double cpu_seconds() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace shakedown::checkpoint
