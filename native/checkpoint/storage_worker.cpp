#include "storage_worker.hpp"

#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace shakedown::checkpoint {

struct StorageWorker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;
  bool busy = false;  // from the hand-over to the end of the work
  bool hung = false;  // somebody gave up waiting for it
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  bool ended = false;  // the worker is to end
  bool gone = false;   // it has
  double cpu_seconds = 0;

  template <class Done>
  bool waited(std::unique_lock<std::mutex>& lock, double patience_seconds, const std::atomic<std::uint64_t>& pulse,
              Done&& ended_now);
};

double thread_cpu_seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Deadline in_seconds(double seconds) {
  constexpr double kYear = 365.0 * 86400.0;
  const std::chrono::duration<double> span(std::clamp(seconds, 0.0, kYear));
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(span);
}

StorageWorker::StorageWorker() : state_(std::make_shared<State>()) {
  std::thread([state = state_] {
    std::unique_lock lock(state->mutex);
    while (true) {
      state->changed.wait(lock, [&] { return state->ended || state->work != nullptr; });
      if (state->work == nullptr) break;
      std::function<void()> work = std::move(state->work);
      state->work = nullptr;
      lock.unlock();
      try {
        work();
      } catch (...) {  // no memory: what the work was to leave behind says that it was not done
      }
      work = nullptr;  // what it owns is freed before its end is seen
      lock.lock();
      state->cpu_seconds = thread_cpu_seconds();
      state->busy = false;
      state->hung = false;
      ++state->done;
      state->changed.notify_all();
    }
    state->gone = true;
    state->changed.notify_all();
  }).detach();
}

StorageWorker::~StorageWorker() {
  std::unique_lock lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
  // A worker that does nothing ends at once; one that hangs is left behind with its state.
  state_->changed.wait_until(lock, in_seconds(state_->busy ? 0.05 : 10.0), [&] { return state_->gone; });
}

/// Waits under the lock until `done`, as long as the pulse counts on.
template <class Done>
bool StorageWorker::State::waited(std::unique_lock<std::mutex>& lock, double patience_seconds,
                                  const std::atomic<std::uint64_t>& pulse, Done&& ended_now) {
  std::uint64_t seen = 0;
  do {
    seen = pulse.load(std::memory_order_relaxed);
    if (changed.wait_until(lock, in_seconds(patience_seconds), ended_now)) return true;
  } while (pulse.load(std::memory_order_relaxed) != seen);
  hung = true;
  return false;
}

std::uint64_t StorageWorker::begin(std::function<void()> work, double patience_seconds,
                                   const std::atomic<std::uint64_t>& pulse) {
  std::unique_lock lock(state_->mutex);
  // Another thread's work goes first; what hung once is not waited for again.
  if (state_->hung || !state_->waited(lock, patience_seconds, pulse, [&] { return !state_->busy; })) return 0;
  state_->work = std::move(work);
  state_->busy = true;
  state_->changed.notify_all();
  return ++state_->begun;
}

bool StorageWorker::end(std::uint64_t ticket, double patience_seconds, const std::atomic<std::uint64_t>& pulse) {
  std::unique_lock lock(state_->mutex);
  return ticket != 0 && state_->waited(lock, patience_seconds, pulse, [&] { return state_->done >= ticket; });
}

bool StorageWorker::run(std::function<void()> work, double patience_seconds, const std::atomic<std::uint64_t>& pulse) {
  return end(begin(std::move(work), patience_seconds, pulse), patience_seconds, pulse);
}

double StorageWorker::cpu_seconds() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->cpu_seconds;
}

}  // namespace shakedown::checkpoint
