#include "drive.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <memory>
#include <thread>

#include "common/clock.hpp"
#include "common/error.hpp"
#include "common/team.hpp"
#include "probe/measure.hpp"

namespace shakedown::load {
namespace {

constexpr std::int64_t kBatch_ns = 200'000'000;  // the watch wakes at most this often
constexpr std::int64_t kBlocks = 1;              // of a slice of work: some 50 microseconds

void sleep_until(std::int64_t monotonic_at_ns) {
  timespec at{};
  at.tv_sec = static_cast<time_t>(monotonic_at_ns / 1'000'000'000);
  at.tv_nsec = static_cast<long>(monotonic_at_ns % 1'000'000'000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

struct Stamp {
  std::int64_t unix_ns = 0;
  std::int64_t late_ns = 0;
};

/// One thread: its stamps of every edge, and its work.
class Worker {
 public:
  Worker(const Schedule& schedule, const probe::Kernel& kernel, const Options& options, int index, int of)
      : schedule_(schedule), kernel_(kernel), slot_ns_(options.slot_ns), index_(index), of_(of) {
    stamps.resize(schedule.size() + 1);
    for (const auto& segment : schedule) {
      shares.push_back(duties(segment.level, of, options.evenly)[static_cast<std::size_t>(index)]);
    }
    state_.reset();
    work();  // touches memory and wakes the vector units before the first edge
    worked_ns = on_cpu_ns = slices = 0;
  }

  void run(std::int64_t start_ns, std::atomic<std::uint32_t>* passed) {
    prctl(PR_SET_TIMERSLACK, 1UL);  // the kernel may else be 50 microseconds late; the stamps show it where this fails
    std::int64_t at = start_ns;
    for (std::size_t i = 0; i < schedule_.size(); ++i) {
      sleep_until(at);
      mark(i, at, passed);
      if (shares[i] > 0) keep(at, at + schedule_[i].length_ns, shares[i]);
      at += schedule_[i].length_ns;
    }
    sleep_until(at);
    mark(schedule_.size(), at, passed);
  }

  std::vector<Stamp> stamps;
  std::vector<double> shares;
  std::int64_t worked_ns = 0, on_cpu_ns = 0, slices = 0;
  double defect = 0;

 private:
  void mark(std::size_t edge, std::int64_t planned_ns, std::atomic<std::uint32_t>* passed) {
    const auto now = monotonic_ns();
    stamps[edge] = {unix_ns(), now - planned_ns};
    passed[edge].fetch_add(1, std::memory_order_release);
  }

  /// Work `share` of the time from begin to end, in slots; what a slot overran, the next ones make up for. The slots of
  /// the threads are shifted against one another, so that their sum is smoother than each.
  void keep(std::int64_t begin, std::int64_t end, double share) {
    const auto before = worked_ns;
    std::int64_t slot = share < 1 ? begin + slot_ns_ * index_ / of_ : end;
    if (slot == begin) slot += slot_ns_;
    for (auto now = monotonic_ns(); now < end; now = monotonic_ns()) {
      slot = std::min(slot, end);
      const auto due = static_cast<std::int64_t>(share * static_cast<double>(slot - begin));
      while (now < slot && worked_ns - before < due) {
        work();
        now = monotonic_ns();
      }
      if (now < slot) sleep_until(slot);
      slot += slot_ns_;
    }
  }

  void work() {
    const auto cpu_begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const auto begin = monotonic_ns();
    kernel_.fma64(kBlocks, state_.data());
    const double apart = state_.defect(probe::kFactors64, kernel_.chains, kernel_.lanes64);
    if (!(apart <= defect)) defect = apart;
    state_.reset();
    worked_ns += monotonic_ns() - begin;
    on_cpu_ns += read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
    ++slices;
  }

  const Schedule& schedule_;
  const probe::Kernel& kernel_;
  std::int64_t slot_ns_;
  int index_, of_;
  probe::State<double> state_;
};

using Workers = std::vector<std::unique_ptr<Worker>>;

/// When an edge was: threads whose share changes there make it; where none does, all of them.
Edge edge_of(const Workers& workers, std::size_t edge) {
  std::int64_t first = 0;
  std::int64_t late = 0;
  std::int64_t behind = 0;
  std::int64_t count = 0;
  const auto changes = [&](const Worker& worker) {
    const double before = edge == 0 ? 0 : worker.shares[edge - 1];
    const double after = edge == worker.shares.size() ? 0 : worker.shares[edge];
    return before != after;
  };
  const bool any = std::any_of(workers.begin(), workers.end(), [&](const auto& one) { return changes(*one); });
  for (const auto& worker : workers) {
    if (any && !changes(*worker)) continue;
    const Stamp& stamp = worker->stamps[edge];
    if (count == 0) first = stamp.unix_ns;
    behind += stamp.unix_ns - first;
    late = std::max(late, stamp.late_ns);
    ++count;
  }
  return {first + behind / std::max<std::int64_t>(count, 1), static_cast<double>(late) * 1e-9};
}

/// Tells of each edge once all threads have passed it: sleeps in between, on no CPU of its own.
class Clerk {
 public:
  Clerk(const Schedule& schedule, const Workers& workers, std::vector<std::atomic<std::uint32_t>>& passed,
        const Watch& watch)
      : schedule_(schedule), workers_(workers), passed_(passed), watch_(watch), thread_([this] { run(); }) {}
  ~Clerk() {
    over_.store(true, std::memory_order_release);
    start_ns_.notify_all();
    thread_.join();
  }
  Clerk(const Clerk&) = delete;
  Clerk& operator=(const Clerk&) = delete;

  /// `start_ns` is never 0.
  void begin(std::int64_t start_ns) {
    start_ns_.store(start_ns, std::memory_order_release);
    start_ns_.notify_all();
  }
  /// Never begun, because the threads could not be made.
  void abandon() {
    over_.store(true, std::memory_order_release);
    start_ns_.store(-1, std::memory_order_release);
    start_ns_.notify_all();
  }

 private:
  void run() {
    start_ns_.wait(0, std::memory_order_acquire);
    std::int64_t at = start_ns_.load(std::memory_order_acquire);
    if (at < 0) return;
    for (std::size_t edge = 0; edge <= schedule_.size(); ++edge) {
      const auto batch_ns = edge < schedule_.size() ? kBatch_ns : 0;
      if (at > monotonic_ns()) sleep_until(std::max(at + 2'000'000, monotonic_ns() + batch_ns));
      while (passed_[edge].load(std::memory_order_acquire) < workers_.size()) {
        if (over_.load(std::memory_order_acquire) && passed_[edge].load(std::memory_order_acquire) < workers_.size()) {
          return;  // a thread failed
        }
        sleep_until(monotonic_ns() + 1'000'000);
      }
      watch_(edge, edge_of(workers_, edge).unix_ns);
      if (edge < schedule_.size()) at += schedule_[edge].length_ns;
    }
  }

  const Schedule& schedule_;
  const Workers& workers_;
  std::vector<std::atomic<std::uint32_t>>& passed_;
  const Watch& watch_;
  std::atomic<std::int64_t> start_ns_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;  // last: it uses the others
};

Driven summary(const Schedule& schedule, const probe::Kernel& kernel, const Workers& workers) {
  Driven driven;
  for (std::size_t edge = 0; edge <= schedule.size(); ++edge) driven.edges.push_back(edge_of(workers, edge));
  std::int64_t slices = 0;
  for (const auto& worker : workers) {
    slices += worker->slices;
    driven.worked_s += static_cast<double>(worker->worked_ns) * 1e-9;
    driven.on_cpu_s += static_cast<double>(worker->on_cpu_ns) * 1e-9;
    if (!(worker->defect <= driven.defect)) driven.defect = worker->defect;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      driven.asked_s += worker->shares[i] * static_cast<double>(schedule[i].length_ns) * 1e-9;
    }
  }
  driven.flop = 2.0 * static_cast<double>(slices) * static_cast<double>(probe::steps_of(kBlocks)) * kernel.chains *
                kernel.lanes64;
  driven.begin_ns = driven.edges.front().unix_ns;
  driven.end_ns = driven.edges.back().unix_ns;
  return driven;
}

}  // namespace

Driven drive(const Schedule& schedule, const probe::Kernel& kernel, const Options& options, const Watch& watch) {
  const auto threads = options.cpus.size();
  Workers workers(threads);
  std::vector<std::atomic<std::uint32_t>> passed(schedule.size() + 1);
  Clerk clerk(schedule, workers, passed, watch);  // before the team: a thread inherits the pinning of its maker
  try {
    Team team(options.cpus);
    std::atomic<std::int64_t> start_ns{0};
    team.run([&](int index) {
      const auto i = static_cast<std::size_t>(index);
      workers[i] = std::make_unique<Worker>(schedule, kernel, options, index, static_cast<int>(threads));
      team.barrier();
      if (index == 0) {
        const auto now = monotonic_ns();
        const auto wait_ns = options.start_unix_ns == 0 ? 5'000'000 : options.start_unix_ns - unix_ns();
        start_ns.store(now + std::max<std::int64_t>(wait_ns, 0));
        clerk.begin(start_ns.load());
      }
      team.barrier();
      workers[i]->run(start_ns.load(), passed.data());
    });
  } catch (...) {
    clerk.abandon();
    throw;
  }
  return summary(schedule, kernel, workers);
}

}  // namespace shakedown::load
