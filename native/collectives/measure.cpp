// One case: its methods in turn, each repetition begun at an agreed instant, each result checked.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <limits>

#include "collectives.hpp"
#include "common/clock.hpp"
#include "common/job.hpp"
#include "common/watch.hpp"
#include "waiting.hpp"

namespace shakedown::collectives {
namespace {

constexpr Word kTimedSeed = 1;
constexpr std::size_t kHead = 512;  // words of a result that are checked after every repetition,
constexpr std::size_t kTail = 8;    // and at its end
constexpr int kWarmups = 5;
constexpr int kLeastRounds = 10;
constexpr int kAttempts = 5;
constexpr double kMostBudgets = 20;    // after so many times its budget a case ends, whatever it has
constexpr std::int64_t kLateNs = 300;  // a few readings of the clock: beyond it a rank was held up at its start
constexpr std::int64_t kInjectedLateNs = 1'000'000;
constexpr timespec kInjectedNap{0, 100'000};
constexpr int kInjectedEvery = 5;
constexpr timespec kInjectedLag{0, 20'000'000};
constexpr int kSlowTimes = 5;
constexpr std::int64_t kOsuLoops = 50;

/// When one repetition of a rank began and ended, by its own clock.
struct Stamps {
  std::vector<std::int64_t> entries;
  std::vector<std::int64_t> exits;
  void add(std::int64_t entry, std::int64_t exit) {
    entries.push_back(entry);
    exits.push_back(exit);
  }
};

/// A method with what it gave on this rank.
struct Tried {
  Method method;
  Stamps timed;
  Stamps late;
  std::int64_t wrong = 0;
  std::int64_t first_wrong = -1;
  double osu_s = 0;
};

class CaseRun {
 public:
  CaseRun(const World& world, const Group& group, SharedClock& clock, const Options& options, const Shape& shape)
      : group_(group),
        clock_(clock),
        options_(options),
        yields_(world.oversubscribed),
        last_(group.rank == group.size - 1),
        lags_(options.inject == Inject::lag && world.rank == world.size - 1),
        start_(group.control, clock) {
    View view{shape.operation, group.size, group.rank, shape.root, shape.bytes / sizeof(Word)};
    words_ = buffer_words(view);
    together(group.control, [&] {
      for (auto& buffer : buffers_) buffer = Buffer(std::max<std::size_t>(words_, 1) * sizeof(Word), options.pages);
    });
    call_ = {view, group.data, shape.in_place, words(0).data(), words(1).data(), words(2).data(), {}, {}};
    set_counts(call_);
    fill_input(words(0), view.rank, kTimedSeed);
    poison(words(1));
    poison(words(2));
    wanted_ = expected(view, kTimedSeed);
    for (auto& method : methods_of(shape.operation, shape.in_place, options.nonblocking)) {
      if (method.is_mockup && !options.mockups) continue;
      tried_.push_back({std::move(method), {}, {}, 0, -1, 0});
    }
  }

  CaseResult run() {
    const std::int64_t since_ns = clock_.now_ns();
    clock_.synchronise(since_ns);
    for (auto& tried : tried_) {
      check_whole(tried, 2);
      for (int i = 0; i < kWarmups; ++i) call(tried);
    }
    const double begin_s = now_s();
    for (std::int64_t round = 0; goes_on(round, now_s() - begin_s); ++round) one_round(round);
    tried_.front().osu_s = osu_loop(tried_.front());
    for (auto& tried : tried_) check_whole(tried, 3);
    clock_.synchronise(since_ns);
    return gathered();
  }

 private:
  std::span<Word> words(std::size_t buffer) { return {static_cast<Word*>(buffers_[buffer].data()), words_}; }

  void call(const Tried& tried) {
    const InMpi mark;
    if (lags_) nanosleep(&kInjectedLag, nullptr);
    tried.method.run(call_);
    if (options_.inject == Inject::slow && tried.method.name == "library") {
      for (int i = 1; i < kSlowTimes; ++i) {
        set_input(call_);
        tried.method.run(call_);
      }
    }
  }

  /// Rank 0 decides, so that all do alike.
  bool goes_on(std::int64_t round, double passed_s) {
    const InMpi mark;
    const auto valid = static_cast<std::int64_t>(tried_.front().timed.entries.size());
    int more = valid < options_.samples ? 1 : 0;
    if (passed_s > options_.budget_s && valid >= kLeastRounds) more = 0;
    if (passed_s > kMostBudgets * options_.budget_s && round > 0) more = 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, group_.control);
    return more != 0;
  }

  /// Each method once, in another order each time. A round counts whole or not at all, so that samples of the same
  /// place were taken one after another.
  void one_round(std::int64_t round) {
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      auto& tried = tried_[(i + static_cast<std::size_t>(round)) % tried_.size()];
      if (in_time(tried)) continue;
      const auto kept = std::min_element(tried_.begin(), tried_.end(), [](const auto& a, const auto& b) {
                          return a.timed.entries.size() < b.timed.entries.size();
                        })->timed.entries.size();
      for (auto& other : tried_) {
        other.timed.entries.resize(kept);
        other.timed.exits.resize(kept);
      }
      return;
    }
  }

  /// One repetition that all ranks began in time; those that they did not are kept apart. False where none succeeds.
  bool in_time(Tried& tried) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      refresh(kTimedSeed);
      std::int64_t entry = 0;
      std::int64_t exit = 0;
      const bool late = start_.any_late(repetition(tried, entry, exit));
      if (options_.verify) check_ends(tried);
      if (!late || yields_) {
        tried.timed.add(entry, exit);
        return true;
      }
      tried.late.add(entry, exit);
    }
    return false;
  }

  Beginning repetition(const Tried& tried, std::int64_t& entry, std::int64_t& exit) {
    const std::int64_t start_ns = start_.agree();
    if (options_.inject == Inject::late && last_ && ++repetitions_ % kInjectedEvery == 0) {
      // Later than the start, however far off that was put.
      while (clock_.now_ns() < start_ns + kInjectedLateNs) nanosleep(&kInjectedNap, nullptr);
    }
    while (options_.inject == Inject::hang && last_) sched_yield();
    entry = clock_.now_ns();
    const bool is_here = entry <= start_ns;
    if (entry < start_ns) entry = wait_until(clock_, start_ns, yields_);
    call(tried);
    exit = clock_.now_ns();
    if (!is_here) return Beginning::not_here;
    return entry - start_ns > kLateNs ? Beginning::held_up : Beginning::in_time;
  }

  /// Nothing of an earlier result is left where it will be looked for, and inputs in place are whole again.
  void refresh(Word seed) {
    if (seed != kTimedSeed) {
      poison(words(1));
    } else {
      for (const auto& [from, count] : ends()) poison(words(1).subspan(from, count));
    }
    set_input(call_);
  }

  [[nodiscard]] std::array<std::pair<std::size_t, std::size_t>, 2> ends() const {
    const std::size_t head = std::min(kHead, wanted_.size());
    const std::size_t tail = std::min(kTail, wanted_.size() - head);
    return {{{0, head}, {wanted_.size() - tail, tail}}};
  }

  void check_ends(Tried& tried) {
    damage();
    for (const auto& [from, count] : ends()) note(tried, compare(words(1).subspan(from, count), wanted_, from));
  }

  /// Every word of a result, with data that were not there before.
  void check_whole(Tried& tried, Word seed) {
    if (!options_.verify) return;
    fill_input(words(0), call_.view.rank, seed);
    refresh(seed);
    call(tried);
    const auto wanted = expected(call_.view, seed);
    damage();
    note(tried, compare(words(1).first(wanted.size()), wanted));
    fill_input(words(0), call_.view.rank, kTimedSeed);
    set_input(call_);
  }

  static void note(Tried& tried, const Difference& difference) {
    if (difference.wrong > 0 && tried.wrong == 0) tried.first_wrong = difference.first;
    tried.wrong += difference.wrong;
  }

  /// What tests plant, at the last rank that gets anything.
  void damage() {
    const bool victim = has_root(call_.view.operation) && call_.view.operation != Operation::bcast &&
                                call_.view.operation != Operation::scatter
                            ? call_.view.rank == call_.view.root
                            : last_;
    if (!victim || wanted_.empty()) return;
    auto result = words(1).first(wanted_.size());
    if (options_.inject == Inject::flip) result[wanted_.size() / 3 % kHead] ^= 32U;
    if (options_.inject == Inject::swap) std::swap(result.front(), result.back());
    if (options_.inject == Inject::lost) poison(result.first(std::min(kHead, result.size())));
  }

  /// The figure of the OSU micro-benchmarks: each rank's mean over a loop of calls with a barrier after each, and the
  /// mean of those over the ranks (osu_util_mpi.c of 7.4, "Avg Latency").
  double osu_loop(const Tried& tried) {
    const InMpi mark;
    std::int64_t sum_ns = 0;
    const std::int64_t loops = std::min(kOsuLoops, options_.samples);
    for (std::int64_t i = -kWarmups; i < loops; ++i) {
      const std::int64_t begin_ns = clock_.now_ns();
      tried.method.run(call_);
      const std::int64_t passed_ns = clock_.now_ns() - begin_ns;
      if (i >= 0) sum_ns += passed_ns;
      MPI_Barrier(group_.data);
    }
    double mean_s = static_cast<double>(sum_ns) * 1e-9 / static_cast<double>(loops);
    MPI_Allreduce(MPI_IN_PLACE, &mean_s, 1, MPI_DOUBLE, MPI_SUM, group_.control);
    return mean_s / group_.size;
  }

  std::vector<std::int64_t> over_ranks(const std::vector<std::int64_t>& stamps, MPI_Op op) {
    if (stamps.empty()) return {};  // on all ranks alike
    std::vector<std::int64_t> shared(stamps.size());
    std::transform(stamps.begin(), stamps.end(), shared.begin(), [&](auto own) { return clock_.shared_ns(own); });
    std::vector<std::int64_t> all(stamps.size());
    MPI_Reduce(shared.data(), all.data(), static_cast<int>(shared.size()), MPI_INT64_T, op, 0, group_.control);
    return all;
  }

  /// Last exit less first entry of each repetition, on rank 0.
  std::vector<double> times(const Stamps& stamps) {
    const auto first = over_ranks(stamps.entries, MPI_MIN);
    const auto last = over_ranks(stamps.exits, MPI_MAX);
    std::vector<double> seconds(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) seconds[i] = static_cast<double>(last[i] - first[i]) * 1e-9;
    return seconds;
  }

  /// Repetitions of a barrier that a rank left before all had entered, beyond what the clocks may be wrong by.
  std::int64_t left_early(const Stamps& stamps, double error_ns) {
    const auto entered = over_ranks(stamps.entries, MPI_MAX);
    const auto left = over_ranks(stamps.exits, MPI_MIN);
    std::int64_t early = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      early += static_cast<double>(entered[i] - left[i]) > 2 * error_ns ? 1 : 0;
    }
    return early;
  }

  CaseResult gathered() {
    CaseResult result;
    std::array<double, 2> errors = {clock_.error_ns(), options_.inject == Inject::clock ? clock_.true_error_ns() : -1};
    MPI_Allreduce(MPI_IN_PLACE, errors.data(), 2, MPI_DOUBLE, MPI_MAX, group_.control);
    result.clock_error_s = 2e-9 * errors[0];
    result.clock_true_error_s = errors[1] < 0 ? -1 : 2e-9 * errors[1];
    result.slack_s = start_.slack_s();
    for (const auto& tried : tried_) {
      Series series;
      series.method = tried.method.name;
      series.seconds = times(tried.timed);
      series.late_seconds = times(tried.late);
      series.osu_s = tried.osu_s;
      std::array<std::int64_t, 2> mine = {tried.wrong, tried.first_wrong};
      std::vector<std::int64_t> all(2 * static_cast<std::size_t>(group_.size));
      MPI_Gather(mine.data(), 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, 0, group_.control);
      for (std::size_t rank = 0; 2 * rank < all.size(); ++rank) {
        if (all[2 * rank] > 0 && series.wrong_rank < 0) {
          series.wrong_rank = static_cast<int>(rank);
          series.wrong_word = all[2 * rank + 1];
        }
        series.wrong += all[2 * rank];
      }
      if (call_.view.operation == Operation::barrier) series.wrong += left_early(tried.timed, errors[0]);
      result.series.push_back(std::move(series));
    }
    return result;
  }

  const Group& group_;
  SharedClock& clock_;
  const Options& options_;
  bool yields_;
  bool last_;
  bool lags_;
  AgreedStart start_;
  std::size_t words_ = 0;
  std::array<Buffer, 3> buffers_;
  Call call_;
  std::vector<Word> wanted_;
  std::vector<Tried> tried_;
  int repetitions_ = 0;
};

}  // namespace

std::uint64_t buffer_bytes(const Shape& shape, int ranks) {
  const View view{shape.operation, ranks, 0, 0, shape.bytes / sizeof(Word)};
  const auto words = buffer_words(view);
  return (4 * words + (is_of_blocks(shape.operation) ? words : 0)) *
         sizeof(Word);  // three buffers, what is expected, twice
}

CaseResult measure(const World& world, const Group& group, SharedClock& clock, const Options& options,
                   const Shape& shape) {
  return CaseRun(world, group, clock, options, shape).run();
}

}  // namespace shakedown::collectives
