// One case: the operation, the computation and both together in turn, each begun at an agreed instant, and what arrived
// checked.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/clock.hpp"
#include "common/sampling.hpp"
#include "common/watch.hpp"
#include "side.hpp"

namespace shakedown::overlap {
namespace {

using collectives::AgreedStart;
using collectives::Beginning;
using collectives::SharedClock;

constexpr Word kTimedSeed = 1;
constexpr std::size_t kHead = 512;  // words of a result that are checked after every sample,
constexpr std::size_t kTail = 8;    // and at its end
constexpr int kWarmups = 5;
constexpr int kCalibrations = 15;
constexpr std::int64_t kLeastSamples = 10;
constexpr int kAttempts = 5;
constexpr std::int64_t kLateNs = 300;  // a few readings of the clock: beyond it a rank was held up at its start
constexpr std::int64_t kInjectedLateNs = 1'000'000;
constexpr timespec kInjectedNap{0, 100'000};
constexpr int kInjectedEvery = 5;

/// A way to spend the time, with what it gave on this rank.
struct Tried {
  Way way = Way::pure;
  int tests = 0;
  std::vector<Taken> taken;
};

class CaseRun {
 public:
  CaseRun(const Ranks& ranks, const Group& group, SharedClock& clock, const Options& options, const Shape& shape)
      : group_(group),
        clock_(clock),
        options_(options),
        yields_(ranks.oversubscribed),
        size_(static_cast<int>(group.members.size())),
        last_(group.rank == size_ - 1),
        words_(buffer_words(shape.operation, shape.bytes, size_)),
        send_(made(group, options, words_)),
        receive_(made(group, options, words_)),
        side_(call_of(shape.operation, shape.bytes, group.rank, size_, group.data, words(send_).data(),
                      words(receive_).data()),
              clock, options.inject, yields_),
        start_(group.control, clock) {
    collectives::fill_input(words(send_), group.rank, kTimedSeed);
    collectives::poison(words(receive_));
    wanted_ = expected(side_.call(), kTimedSeed);
    tried_.push_back({Way::pure, 0, {}});
    tried_.push_back({Way::computing, 0, {}});
    for (const int tests : options.tests) tried_.push_back({Way::both, tests, {}});
  }

  CaseResult run() {
    const std::int64_t since_ns = clock_.now_ns();
    clock_.synchronise(since_ns);
    while (options_.inject == Inject::hang && last_) pause();
    check_whole(2);
    calibrate();
    const double begin_s = now_s();
    result_.begin_ns = unix_ns();
    for (std::int64_t round = 0; goes_on(round, now_s() - begin_s); ++round) one_round(round);
    result_.end_ns = unix_ns();
    check_whole(3);
    clock_.synchronise(since_ns);
    gather();
    return std::move(result_);
  }

 private:
  static Buffer made(const Group& group, const Options& options, std::size_t words) {
    Buffer buffer;
    together(group.control, [&] { buffer = Buffer(words * sizeof(Word), options.pages); });
    return buffer;
  }
  std::span<Word> words(const Buffer& buffer) const { return {static_cast<Word*>(buffer.data()), words_}; }

  /// The operation alone, and from it how long the computation is.
  void calibrate() {
    Tried& pure = tried_.front();
    for (int i = 0; i < kWarmups + kCalibrations; ++i) {
      if (i == kWarmups) pure.taken.clear();
      one_sample(pure, true);
    }
    auto seconds = times(pure);
    pure.taken.clear();
    double pure_s = 0;
    if (group_.rank == 0) {
      std::nth_element(seconds.begin(), seconds.begin() + kCalibrations / 2, seconds.end());
      pure_s = seconds[kCalibrations / 2];
    }
    double slowest_ns = side_.iteration_ns();
    MPI_Bcast(&pure_s, 1, MPI_DOUBLE, 0, group_.control);
    MPI_Allreduce(MPI_IN_PLACE, &slowest_ns, 1, MPI_DOUBLE, MPI_MAX, group_.control);
    result_.iterations = std::max(
        std::int64_t{1}, static_cast<std::int64_t>(std::llround(1e9 * pure_s * options_.computation / slowest_ns)));
  }

  /// Rank 0 decides, so that all do alike.
  bool goes_on(std::int64_t round, double passed_s) {
    const InMpi mark;
    const std::int64_t count = std::ssize(tried_.front().taken);
    int more = wants_sample(count, round, passed_s, options_.samples, kLeastSamples, options_.budget_s) ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, group_.control);
    return more != 0;
  }

  /// Each way once, in another order each time. A round counts whole or not at all, so that samples of the same place
  /// were taken one after another.
  void one_round(std::int64_t round) {
    const std::size_t kept = tried_.front().taken.size();
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (in_time(tried_[(i + static_cast<std::size_t>(round)) % tried_.size()])) continue;
      for (auto& one : tried_) one.taken.resize(kept);
      return;
    }
  }

  bool in_time(Tried& tried) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (one_sample(tried)) return true;
    }
    return false;
  }

  /// Whether all ranks began in time; where they did not, the sample is dropped, unless `any` will do.
  bool one_sample(Tried& tried, bool any = false) {
    for (const auto& [from, count] : ends()) collectives::poison(words(receive_).subspan(from, count));
    set_input(side_.call());
    const std::int64_t start_ns = start_.agree();
    if (options_.inject == Inject::late && last_ && ++samples_ % kInjectedEvery == 0) {
      while (clock_.now_ns() < start_ns + kInjectedLateNs) nanosleep(&kInjectedNap, nullptr);
    }
    const bool is_here = clock_.now_ns() <= start_ns;
    const Taken taken = side_.take(tried.way, tried.tests, result_.iterations, start_ns);
    const bool held_up = taken.entry_ns - start_ns > kLateNs;
    const bool late = start_.any_late(!is_here  ? Beginning::not_here
                                      : held_up ? Beginning::held_up
                                                : Beginning::in_time);
    if (tried.way != Way::computing) check_ends();
    if (late && !any && !yields_ && !simulated()) {
      ++result_.late;
      return false;
    }
    tried.taken.push_back(taken);
    return true;
  }

  [[nodiscard]] bool simulated() const { return options_.inject >= Inject::asynchronous; }

  [[nodiscard]] std::array<std::pair<std::size_t, std::size_t>, 2> ends() const {
    const std::size_t head = std::min(kHead, wanted_.size());
    const std::size_t tail = std::min(kTail, wanted_.size() - head);
    return {{{0, head}, {wanted_.size() - tail, tail}}};
  }

  void check_ends() {
    if (!options_.verify) return;
    damage();
    for (const auto& [from, count] : ends()) {
      note(collectives::compare(words(receive_).subspan(from, count), wanted_, from));
    }
  }

  /// Every word of a result, with data that were not there before.
  void check_whole(Word seed) {
    if (!options_.verify) return;
    const InMpi mark;
    collectives::fill_input(words(send_), group_.rank, seed);
    collectives::poison(words(receive_));
    set_input(side_.call());
    side_.take(Way::pure, 0, 0, clock_.now_ns());
    const auto wanted = expected(side_.call(), seed);
    damage();
    note(collectives::compare(words(receive_).first(wanted.size()), wanted));
    collectives::fill_input(words(send_), group_.rank, kTimedSeed);
    set_input(side_.call());
    MPI_Barrier(group_.control);
  }

  void note(const collectives::Difference& difference) {
    if (difference.wrong > 0 && wrong_ == 0) first_wrong_ = difference.first;
    wrong_ += difference.wrong;
  }

  /// What tests plant, at the last rank that gets anything: of a rooted operation that is the root.
  void damage() {
    if (wanted_.empty()) return;
    const auto& view = side_.call().collective.view;
    const bool to_root = !is_of_two(side_.call().operation) && (view.operation == collectives::Operation::reduce ||
                                                                view.operation == collectives::Operation::gather);
    if (!(to_root ? view.rank == view.root : last_)) return;
    auto result = words(receive_).first(wanted_.size());
    if (options_.inject == Inject::flip) result[wanted_.size() / 3 % kHead] ^= 32U;
    if (options_.inject == Inject::lost) collectives::poison(result.first(std::min(kHead, result.size())));
  }

  std::vector<std::int64_t> over_ranks(const Tried& tried, std::int64_t Taken::*stamp, MPI_Op op) {
    std::vector<std::int64_t> shared(tried.taken.size());
    std::transform(tried.taken.begin(), tried.taken.end(), shared.begin(),
                   [&](const Taken& one) { return clock_.shared_ns(one.*stamp); });
    std::vector<std::int64_t> all(shared.size());
    MPI_Reduce(shared.data(), all.data(), static_cast<int>(shared.size()), MPI_INT64_T, op, 0, group_.control);
    return all;
  }

  /// Last exit less first entry of each sample, on rank 0.
  std::vector<double> times(const Tried& tried) {
    const InMpi mark;
    const auto first = over_ranks(tried, &Taken::entry_ns, MPI_MIN);
    const auto last = over_ranks(tried, &Taken::exit_ns, MPI_MAX);
    std::vector<double> seconds(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) seconds[i] = static_cast<double>(last[i] - first[i]) * 1e-9;
    return seconds;
  }

  double longest_median_s(const Tried& tried, std::int64_t Taken::*part) {
    std::vector<std::int64_t> ns;
    ns.reserve(tried.taken.size());
    for (const auto& one : tried.taken) ns.push_back(one.*part);
    std::nth_element(ns.begin(), ns.begin() + std::ssize(ns) / 2, ns.end());
    double seconds = ns.empty() ? 0 : 1e-9 * static_cast<double>(ns[ns.size() / 2]);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, group_.control);
    return seconds;
  }

  Series series_of(const Tried& tried) {
    Series series;
    series.seconds = times(tried);
    if (tried.way != Way::both) return series;
    std::vector<double> mine;
    mine.reserve(tried.taken.size());
    for (const auto& one : tried.taken) {
      mine.push_back(1e-9 * static_cast<double>(one.post_ns + one.test_ns + one.wait_ns));
    }
    series.mpi_seconds.resize(mine.size());
    MPI_Reduce(mine.data(), series.mpi_seconds.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
               group_.control);
    series.post_s = longest_median_s(tried, &Taken::post_ns);
    series.test_s = longest_median_s(tried, &Taken::test_ns);
    series.wait_s = longest_median_s(tried, &Taken::wait_ns);
    return series;
  }

  void gather() {
    const InMpi mark;
    std::array<double, 2> errors = {clock_.error_ns(), options_.inject == Inject::clock ? clock_.true_error_ns() : -1};
    MPI_Allreduce(MPI_IN_PLACE, errors.data(), 2, MPI_DOUBLE, MPI_MAX, group_.control);
    result_.clock_error_s = 2e-9 * errors[0];
    result_.clock_true_error_s = errors[1] < 0 ? -1 : 2e-9 * errors[1];
    result_.pure = series_of(tried_[0]);
    result_.computing = series_of(tried_[1]);
    for (std::size_t i = 2; i < tried_.size(); ++i) result_.both.push_back(series_of(tried_[i]));
    const std::array<std::int64_t, 2> mine = {wrong_, first_wrong_};
    std::vector<std::int64_t> all(2 * static_cast<std::size_t>(size_));
    MPI_Gather(mine.data(), 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, 0, group_.control);
    for (std::size_t rank = 0; 2 * rank < all.size(); ++rank) {
      if (all[2 * rank] > 0 && result_.wrong_rank < 0) {
        result_.wrong_rank = static_cast<int>(rank);
        result_.wrong_word = all[2 * rank + 1];
      }
      result_.wrong += all[2 * rank];
    }
    if (side_.call().operation == Operation{}) result_.wrong += left_early(errors[0]);
  }

  /// Samples of a barrier that a rank left before all had entered, beyond what the clocks may be wrong by.
  std::int64_t left_early(double error_ns) {
    const auto entered = over_ranks(tried_.front(), &Taken::entry_ns, MPI_MAX);
    const auto left = over_ranks(tried_.front(), &Taken::exit_ns, MPI_MIN);
    std::int64_t early = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      early += static_cast<double>(entered[i] - left[i]) > 2 * error_ns ? 1 : 0;
    }
    return group_.rank == 0 ? early : 0;
  }

  const Group& group_;
  SharedClock& clock_;
  const Options& options_;
  bool yields_;
  int size_;
  bool last_;
  std::size_t words_;
  Buffer send_;
  Buffer receive_;
  Side side_;
  AgreedStart start_;
  std::vector<Word> wanted_;
  std::vector<Tried> tried_;
  std::int64_t wrong_ = 0;
  std::int64_t first_wrong_ = -1;
  int samples_ = 0;
  CaseResult result_;
};

}  // namespace

std::uint64_t buffer_bytes(const Shape& shape, int ranks) {
  return 4 * sizeof(Word) * buffer_words(shape.operation, shape.bytes, ranks);  // two, and what is expected, twice
}

CaseResult measure(const Ranks& ranks, const Group& group, SharedClock& clock, const Options& options,
                   const Shape& shape) {
  return CaseRun(ranks, group, clock, options, shape).run();
}

}  // namespace shakedown::overlap
