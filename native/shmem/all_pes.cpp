// Operations of all PEs of one host: begun at an agreed instant of the clock that they share, and timed by it.
#include <sched.h>
#include <shmem.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "collectives/content.hpp"
#include "common/clock.hpp"
#include "common/watch.hpp"
#include "shmem.hpp"

namespace shakedown::shmem {
namespace {

constexpr std::int64_t kLeastSlackNs = 2'000;
constexpr std::int64_t kMostSlackNs = 5'000'000;
constexpr std::int64_t kMostLateNs = 300;  // a few readings of the clock
constexpr int kWarmups = 5;
constexpr int kSlackMeetings = 21;
constexpr int kStartsJudged = 20;
constexpr std::int64_t kFewRepetitions = 10;
constexpr double kMostBudgets = 20;
constexpr std::size_t kSyncWords =
    std::max({std::size_t{SHMEM_BCAST_SYNC_SIZE}, std::size_t{SHMEM_COLLECT_SYNC_SIZE},
              std::size_t{SHMEM_REDUCE_SYNC_SIZE}, std::size_t{SHMEM_ALLTOALL_SYNC_SIZE}});

collectives::Operation content_operation(Operation operation) {
  switch (operation) {
    case Operation::broadcast:
      return collectives::Operation::bcast;
    case Operation::fcollect:
      return collectives::Operation::allgather;
    case Operation::sum:
      return collectives::Operation::allreduce;
    case Operation::alltoall:
      return collectives::Operation::alltoall;
    default:
      return collectives::Operation::barrier;
  }
}

std::uint64_t words_sent(const Shape& shape, std::uint64_t pes) {
  const std::uint64_t block = shape.bytes / sizeof(Word);
  return shape.operation == Operation::alltoall ? pes * block : block;
}
std::uint64_t words_got(const Shape& shape, std::uint64_t pes) {
  const std::uint64_t block = shape.bytes / sizeof(Word);
  return shape.operation == Operation::alltoall || shape.operation == Operation::fcollect ? pes * block : block;
}
/// What a reduction wants to work in.
std::uint64_t words_worked(const Shape& shape) {
  if (shape.operation != Operation::sum) return 0;
  return std::max<std::uint64_t>(shape.bytes / sizeof(Word) / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE);
}

/// What PEs exchange, in symmetric memory.
struct Control {
  long long start_ns = 0;  // of the next repetition; -1: none
  long long late = 0;      // PEs that were late to it, at PE 0
  long long wrong = 0;
  std::array<long, kSyncWords> sync{};
};

struct Stamp {
  std::int64_t entry_ns = 0;
  std::int64_t exit_ns = 0;
};

class AllPes {
 public:
  AllPes(const Job& job, const Options& options, const Shape& shape)
      : job_(job),
        options_(options),
        shape_(shape),
        pes_(static_cast<std::uint64_t>(job.pes)),
        memory_(all_pes_bytes(shape, pes_, options.samples), "an operation of all PEs") {
    auto rest = memory_.as<Word>();
    const auto take = [&rest](std::uint64_t count) {
      const auto part = rest.first(count);
      rest = rest.subspan(count);
      return part;
    };
    sent_ = take(words_sent(shape, pes_));
    got_ = take(words_got(shape, pes_));
    work_ = take(words_worked(shape));
    static_assert(sizeof(Stamp) == 2 * sizeof(Word));
    const auto stamps = take(2 * pes_ * static_cast<std::uint64_t>(options.samples));
    stamps_ = {reinterpret_cast<Stamp*>(stamps.data()), stamps.size() / 2};
    control_ = reinterpret_cast<Control*>(rest.data());
    *control_ = Control();
    control_->sync.fill(SHMEM_SYNC_VALUE);
    meet();
  }

  Series run() {
    check(2);
    fill(1);
    for (int i = 0; i < kWarmups; ++i) call();
    find_slack();
    series_.begin_ns = unix_ns();
    const double begin_s = now_s();
    while (repeat(now_s() - begin_s)) {
    }
    series_.end_ns = unix_ns();
    gather();
    check(3);
    return std::move(series_);
  }

 private:
  [[nodiscard]] static std::int64_t now_ns() { return read_clock_ns(CLOCK_MONOTONIC_RAW); }
  [[nodiscard]] bool leads() const { return job_.pe == 0; }

  void call() {
    const InMpi mark;
    auto* const sync = control_->sync.data();
    const std::size_t block = shape_.bytes / sizeof(Word);
    switch (shape_.operation) {
      case Operation::broadcast:
        shmem_broadcast64(got_.data(), sent_.data(), block, 0, 0, 0, job_.pes, sync);
        break;
      case Operation::fcollect:
        shmem_fcollect64(got_.data(), sent_.data(), block, 0, 0, job_.pes, sync);
        break;
      case Operation::sum:
        shmem_longlong_sum_to_all(reinterpret_cast<long long*>(got_.data()), reinterpret_cast<long long*>(sent_.data()),
                                  static_cast<int>(block), 0, 0, job_.pes, reinterpret_cast<long long*>(work_.data()),
                                  sync);
        break;
      case Operation::alltoall:
        shmem_alltoall64(got_.data(), sent_.data(), block, 0, 0, job_.pes, sync);
        break;
      default:
        shmem_barrier_all();
    }
  }

  void fill(Word seed) {
    if (shape_.operation == Operation::barrier) return;
    collectives::fill_input(sent_, job_.pe, seed);
    collectives::poison(got_);
    meet();
  }

  /// Every word of every PE's result. OpenSHMEM's broadcast leaves the root's target alone.
  void check(Word seed) {
    if (!options_.verify || shape_.operation == Operation::barrier) return;
    fill(seed);
    call();
    const collectives::View view{content_operation(shape_.operation), job_.pes, job_.pe, 0,
                                 shape_.bytes / sizeof(Word)};
    const bool untouched = shape_.operation == Operation::broadcast && leads();
    const auto found =
        untouched ? collectives::Difference() : collectives::compare(got_, collectives::expected(view, seed));
    // The greatest of pe + 1 and the place of its first wrong word is all that PE 0 must know to name one.
    if (found.wrong > 0) {
      shmem_longlong_atomic_add(&control_->wrong, found.wrong, 0);
      shmem_longlong_atomic_set(&control_->late, (job_.pe + 1LL) << 40U | found.first, 0);
    }
    meet();
    if (leads() && control_->wrong > 0) {
      if (series_.wrong == 0) {
        series_.wrong_pe = static_cast<int>((control_->late >> 40U) - 1);
        series_.wrong_element = control_->late & ((1LL << 40U) - 1);
      }
      series_.wrong += control_->wrong;
      control_->wrong = control_->late = 0;
    }
    meet();
  }

  /// How far ahead the starts are put: three times what PEs take to meet.
  void find_slack() {
    std::array<std::int64_t, kSlackMeetings> took{};
    for (auto& one : took) {
      const std::int64_t begin_ns = now_ns();
      meet();
      one = now_ns() - begin_ns;
    }
    std::nth_element(took.begin(), took.begin() + kSlackMeetings / 2, took.end());
    slack_ns_ = least_slack_ns_ = std::clamp(3 * took[kSlackMeetings / 2], kLeastSlackNs, kMostSlackNs);
  }

  /// PE 0 says when the next repetition begins, or that there is none.
  std::int64_t agreed_start(double passed_s) {
    if (!leads()) {
      const InMpi mark;
      shmem_longlong_wait_until(&control_->start_ns, SHMEM_CMP_GT, last_start_ns_);
      last_start_ns_ = control_->start_ns;
      return last_start_ns_;
    }
    const auto kept = std::ssize(mine_);
    const bool over = passed_s > options_.budget_s && kept >= kFewRepetitions;
    const bool ends = kept >= options_.samples || over || passed_s > kMostBudgets * options_.budget_s;
    const long long start_ns = ends ? kNoMore : now_ns() + slack_ns_;
    for (int pe = 1; pe < job_.pes; ++pe) shmem_longlong_p(&control_->start_ns, start_ns, pe);
    shmem_quiet();
    return start_ns;
  }

  /// One repetition; false where there are no more. Where a PE was late to it, it is not kept, on no PE.
  bool repeat(double passed_s) {
    const std::int64_t start_ns = agreed_start(passed_s);
    if (start_ns == kNoMore) return false;
    std::int64_t entry_ns = now_ns();
    while (entry_ns < start_ns) {
      if (job_.oversubscribed) sched_yield();
      entry_ns = now_ns();
    }
    call();
    const Stamp stamp{entry_ns, now_ns()};
    if (entry_ns - start_ns > kMostLateNs && !job_.oversubscribed) shmem_longlong_atomic_inc(&control_->late, 0);
    meet();
    const long long late = shmem_longlong_atomic_fetch(&control_->late, 0);
    meet();
    if (leads()) {
      control_->late = 0;
      judge_start(late > 0);
    }
    if (late > 0) {
      ++series_.late;
    } else {
      mine_.push_back(stamp);
    }
    return true;
  }

  void judge_start(bool late) {
    ++starts_;
    late_starts_ += late ? 1 : 0;
    if (starts_ < kStartsJudged) return;
    if (10 * late_starts_ > starts_) slack_ns_ = std::min(2 * slack_ns_, kMostSlackNs);
    if (late_starts_ == 0) slack_ns_ = std::max(slack_ns_ / 2, least_slack_ns_);
    starts_ = late_starts_ = 0;
  }

  /// Last exit less first entry of each repetition, at PE 0.
  void gather() {
    const auto samples = static_cast<std::size_t>(options_.samples);
    const auto row = stamps_.subspan(static_cast<std::size_t>(job_.pe) * samples, mine_.size());
    if (!mine_.empty()) shmem_putmem(row.data(), mine_.data(), mine_.size() * sizeof(Stamp), 0);
    meet();
    if (!leads()) return;
    series_.operations = 1;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
      std::int64_t first_ns = mine_[i].entry_ns;
      std::int64_t last_ns = mine_[i].exit_ns;
      std::int64_t all_entered_ns = first_ns;
      std::int64_t first_left_ns = last_ns;
      for (std::uint64_t pe = 0; pe < pes_; ++pe) {
        const Stamp& stamp = stamps_[pe * samples + i];
        first_ns = std::min(first_ns, stamp.entry_ns);
        all_entered_ns = std::max(all_entered_ns, stamp.entry_ns);
        last_ns = std::max(last_ns, stamp.exit_ns);
        first_left_ns = std::min(first_left_ns, stamp.exit_ns);
      }
      series_.seconds.push_back(static_cast<double>(last_ns - first_ns) * 1e-9);
      if (shape_.operation == Operation::barrier && first_left_ns < all_entered_ns) ++series_.wrong;
    }
  }

  static constexpr long long kNoMore = std::numeric_limits<long long>::max();
  const Job& job_;
  const Options& options_;
  Shape shape_;
  std::uint64_t pes_;
  Symmetric memory_;
  std::span<Word> sent_, got_, work_;
  std::span<Stamp> stamps_;
  Control* control_ = nullptr;
  std::vector<Stamp> mine_;
  Series series_;
  long long last_start_ns_ = 0;
  std::int64_t slack_ns_ = 0;
  std::int64_t least_slack_ns_ = 0;
  int starts_ = 0;
  int late_starts_ = 0;
};

}  // namespace

std::uint64_t all_pes_bytes(const Shape& shape, std::uint64_t pes, std::int64_t samples) {
  const std::uint64_t words = words_sent(shape, pes) + words_got(shape, pes) + words_worked(shape) +
                              2 * pes * static_cast<std::uint64_t>(samples);
  return words * sizeof(Word) + sizeof(Control);
}

Series measure_all_pes(const Job& job, const Options& options, const Shape& shape) {
  return AllPes(job, options, shape).run();
}

}  // namespace shakedown::shmem
