// What workers of one host share whatever they are: when they begin, where they meet, and what each tells.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "common/clock.hpp"
#include "field.hpp"

namespace shakedown::workers {

constexpr int kMostWorkers = 4096;

/// What a way of working has to do.
struct Task {
  std::int64_t sweeps = 0;  // of all workers, or of each
  bool each = false;        // weak scaling: every worker makes all sweeps
  std::int64_t meet_every = 0;
  std::size_t cells = 0;
  bool flip = false;  // for tests: the last worker ends with a wrong cell

  /// Sweeps of one of `workers`.
  [[nodiscard]] std::int64_t of(int worker, int workers) const {
    return each ? sweeps : sweeps / workers + (worker < sweeps % workers ? 1 : 0);
  }
  /// How often all meet: as often as the one with the most sweeps comes to it.
  [[nodiscard]] std::int64_t meetings(int workers) const { return meet_every > 0 ? of(0, workers) / meet_every : 0; }
};

/// What became of one worker: times of CLOCK_MONOTONIC, which is one for all processes of a host.
struct Told {
  double begin_s = 0;
  double end_s = 0;
  std::uint64_t digest = 0;
};

/// All sweeps of a worker. `begin_at` gives the instant, once it is ready; `meet` waits for all others.
template <class BeginAt, class Meet>
Told work(Field& field, const Task& task, int worker, int workers, BeginAt&& begin_at, Meet&& meet) {
  field.restart();
  const std::int64_t sweeps = task.of(worker, workers);
  const std::int64_t meetings = task.meetings(workers);
  const double begin = begin_at();
  while (now_s() < begin) {
  }
  Told told;
  told.begin_s = begin;
  std::int64_t met = 0;
  for (std::int64_t sweep = 1; sweep <= sweeps; ++sweep) {
    field.sweep();
    if (met < meetings && sweep % task.meet_every == 0) {
      meet();
      ++met;
    }
  }
  for (; met < meetings; ++met) meet();
  told.end_s = now_s();
  if (task.flip && worker == workers - 1) field.cells()[0] += 1e-9;
  told.digest = field.digest();
  return told;
}

/// In memory that threads share, and processes where it was mapped before they were made.
struct Shared {
  Task task;
  int workers = 0;
  bool yield = false;  // workers share CPUs: who waits gives way
  std::atomic<int> ready = 0;
  std::atomic<std::int64_t> begin_ns = 0;
  std::atomic<int> arrived = 0;
  std::atomic<int> turn = 0;
  int cpus[kMostWorkers] = {};
  Told told[kMostWorkers] = {};

  void rest() const {
    if (yield) {
      const timespec nap{0, 1000};
      nanosleep(&nap, nullptr);
    }
  }
  /// The last that is ready sets the instant.
  double begin_at() {
    if (ready.fetch_add(1) == workers - 1) begin_ns.store(monotonic_ns() + 200'000);
    std::int64_t at = 0;
    while ((at = begin_ns.load()) == 0) rest();
    return static_cast<double>(at) * 1e-9;
  }
  void meet() {
    const int mine = turn.load();
    if (arrived.fetch_add(1) == workers - 1) {
      arrived.store(0);
      turn.store(mine + 1);
      return;
    }
    while (turn.load() == mine) rest();
  }
};

}  // namespace shakedown::workers
