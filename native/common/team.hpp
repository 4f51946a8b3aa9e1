// A team of pinned threads, made once: run a function on every thread, with barriers inside.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "affinity.hpp"

namespace shakedown {

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Wait until `word` is no longer `old`: spin for about a millisecond, then sleep in the kernel. With `spin` false
/// (more threads than CPUs) sleep almost at once, so that the thread waited for can run.
inline void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t old, bool spin) {
  for (int i = 0; i < (spin ? 1 << 15 : 1 << 4); ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    cpu_relax();
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

/// Threads 0 to size()-1, where thread 0 is the caller: nothing waits on a CPU while the others work. Each is pinned to
/// its CPU from the construction on; the caller gets its own binding back at the end. Use from one thread.
class Team {
 public:
  /// One thread on each of `cpus` (a CPU may stand there more than once). Throws where pinning is refused.
  explicit Team(const std::vector<int>& cpus) : bound_(cpus.size()), before_(allowed_cpus()) {
    if (cpus.empty()) throw usage("a team needs at least one thread");
    auto distinct = cpus;
    std::sort(distinct.begin(), distinct.end());
    spin_ = std::adjacent_find(distinct.begin(), distinct.end()) == distinct.end();
    try {
      for (std::size_t i = 1; i < cpus.size(); ++i) workers_.emplace_back([this, i] { work(static_cast<int>(i)); });
      run([&](int index) {
        const auto i = static_cast<std::size_t>(index);
        pin_thread(cpus[i]);
        bound_[i] = allowed_cpus();
      });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Team() { stop(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(bound_.size()); }

  /// What the kernel says that each thread is bound to.
  [[nodiscard]] const std::vector<std::vector<int>>& binding() const { return bound_; }
  /// The same in one line, in thread order: "0,1,2-3".
  [[nodiscard]] std::vector<std::string> binding_words() const {
    std::vector<std::string> words;
    for (const auto& cpus : bound_) words.push_back(format_cpu_list(cpus));
    return words;
  }

  /// Call fn(thread) on every thread and wait for all; what they wrote is then visible to the caller. The first
  /// exception of any thread is thrown here, after every thread has left fn. `fn` must not call run.
  template <class Function>
  void run(Function&& fn) {
    using Plain = std::remove_reference_t<Function>;
    task_ = const_cast<void*>(static_cast<const void*>(std::addressof(fn)));
    call_ = [](void* task, int index) { (*static_cast<Plain*>(task))(index); };
    failed_.store(false, std::memory_order_relaxed);
    recording_.clear(std::memory_order_relaxed);
    arrived_.store(0, std::memory_order_relaxed);
    running_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    call(0);
    for (auto left = running_.load(std::memory_order_acquire); left != 0;
         left = running_.load(std::memory_order_acquire)) {
      wait_while(running_, left, spin_);
    }
    if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  /// Inside fn: wait until every thread is here. Every thread must call it equally often. Where a thread left fn by an
  /// exception the others leave by one too, instead of waiting for ever.
  void barrier() {
    const auto round = round_.load(std::memory_order_acquire);
    if (failed_.load(std::memory_order_acquire)) throw Abandoned{};
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size())) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    wait_while(round_, round, spin_);
    if (failed_.load(std::memory_order_acquire)) throw Abandoned{};
  }

 private:
  struct Abandoned {};  // another thread failed: unwinds this one to the end of its fn

  void call(int index) {
    try {
      call_(task_, index);
    } catch (const Abandoned&) {
    } catch (...) {
      if (!recording_.test_and_set(std::memory_order_acq_rel)) error_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
      round_.fetch_add(1, std::memory_order_release);  // wakes those who wait at the barrier
      round_.notify_all();
    }
    if (index == 0) return;
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }

  void work(int index) {
    for (std::uint32_t seen = 0;;) {
      wait_while(epoch_, seen, spin_);
      seen = epoch_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_acquire)) return;
      call(index);
    }
  }

  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    for (auto& worker : workers_) worker.join();
    const CpuMask mask(before_);
    sched_setaffinity(0, CpuMask::bytes(), mask.set());  // nothing can be done where this fails
  }

  static constexpr std::size_t kLine = 128;  // two lines: the neighbour is prefetched on x86
  alignas(kLine) std::atomic<std::uint32_t> epoch_{0};
  alignas(kLine) std::atomic<std::uint32_t> running_{0};
  alignas(kLine) std::atomic<std::uint32_t> arrived_{0};
  alignas(kLine) std::atomic<std::uint32_t> round_{0};
  alignas(kLine) std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
  std::atomic_flag recording_;
  std::exception_ptr error_;
  void* task_ = nullptr;
  void (*call_)(void*, int) = nullptr;
  bool spin_ = true;
  std::vector<std::vector<int>> bound_;
  std::vector<int> before_;
  std::vector<std::thread> workers_;
};

}  // namespace shakedown
