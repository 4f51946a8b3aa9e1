// One case: samples made long enough, each begun at an agreed instant, timed on one clock, and what arrived checked.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "check.hpp"
#include "collectives/waiting.hpp"
#include "common/clock.hpp"
#include "common/sampling.hpp"
#include "common/watch.hpp"

namespace shakedown::multi_pair {
namespace {

using collectives::AgreedStart;
using collectives::Beginning;
using collectives::SharedClock;

constexpr std::int64_t kFewSamples = 10;
constexpr std::int64_t kLeastLateNs = 300;  // a few readings of the clock
constexpr double kLateShare = 0.01;         // of a sample: less does not change its time
constexpr timespec kInjectedLate{0, 3'000'000};
constexpr int kInjectedEvery = 5;
constexpr timespec kInjectedSlow{0, 20'000'000};
// osu_mbw_mr.c and osu_multi_lat.c of OSU 7.4: loops, and those before them that are not timed; of large messages
// fewer.
constexpr std::size_t kOsuLarge = 8192;
constexpr std::array<std::int64_t, 2> kOsuWindows = {100, 20};
constexpr std::array<std::int64_t, 2> kOsuTrips = {10'000, 1'000};
constexpr std::int64_t kLeastLoops = 10;

class CaseRun {
 public:
  CaseRun(const Ranks& ranks, const Group& group, SharedClock& clock, const Options& options, const Shape& shape)
      : group_(group),
        clock_(clock),
        options_(options),
        shape_(shape),
        yields_(ranks.oversubscribed),
        last_(group.rank + 1 == static_cast<int>(group.members.size())),
        start_(group.control, clock),
        messages_(group, options, shape) {
    if (is_ring(shape.kernel)) {
      turn_to(0);
    } else {
      join_pair();
    }
  }

  Series run() {
    const std::int64_t since_ns = clock_.now_ns();
    clock_.synchronise(since_ns);
    while (options_.inject == Inject::hang && last_) pause();
    check_whole();
    series_.iterations = calibrated();
    const double begin_s = now_s();
    series_.begin_ns = unix_ns();
    for (std::int64_t tries = 0; goes_on(tries, now_s() - begin_s); ++tries) sample(std::ssize(begins_));
    series_.end_ns = unix_ns();
    series_.osu_s = osu_loop();
    if (is_ring(shape_.kernel)) turn_to(0);
    check_whole();
    clock_.synchronise(since_ns);
    gather();
    return std::move(series_);
  }

 private:
  void check_whole() {
    const InMpi mark;
    messages_.check_whole();
  }

  void join_pair() {
    const auto mine = std::find_if(shape_.pairs.begin(), shape_.pairs.end(), [&](const Pair& pair) {
      return pair.first == group_.rank || pair.second == group_.rank;
    });
    end_.comm = group_.data;
    end_.leads = mine->first == group_.rank;
    end_.peer = end_.leads ? mine->second : mine->first;
    end_.out = messages_.out(0).data();
    end_.in = messages_.in(0).data();
    end_.bytes = static_cast<int>(shape_.bytes);
    end_.window = options_.window;
    end_.requests.resize(2 * static_cast<std::size_t>(options_.window));
    is_slow_ = options_.inject == Inject::slow && *mine == shape_.pairs.back();
    const std::vector<Lane> lane = {{end_.peer, pingpong::kTag, 0}};
    const bool one_way = shape_.kernel == Kernel::bandwidth;
    messages_.set_lanes(one_way && !end_.leads ? std::vector<Lane>() : lane,
                        one_way && end_.leads ? std::vector<Lane>() : lane);
  }

  /// The ring of a sample.
  void turn_to(std::int64_t sample) {
    const int number = shape_.kernel == Kernel::natural_ring ? 0 : 1 + static_cast<int>(sample % options_.orders);
    const auto beside = neighbours(ring_order(static_cast<int>(group_.members.size()), number), group_.rank);
    ring_ = {group_.data,
             beside,
             static_cast<int>(shape_.bytes),
             messages_.out(0).data(),
             messages_.out(1).data(),
             messages_.in(0).data(),
             messages_.in(1).data()};
    messages_.set_lanes({{beside.right, kToRight, 0}, {beside.left, kToLeft, 1}},
                        {{beside.left, kToRight, 0}, {beside.right, kToLeft, 1}});
  }

  void exchange(std::int64_t iterations) {
    switch (shape_.kernel) {
      case Kernel::latency:
        return pingpong::exchange(pingpong::Kernel::latency, end_, iterations);
      case Kernel::bandwidth:
        return pingpong::exchange(pingpong::Kernel::bandwidth, end_, iterations);
      case Kernel::bidirectional:
        return pingpong::exchange(pingpong::Kernel::bidirectional, end_, iterations);
      case Kernel::natural_ring:
      case Kernel::random_ring:
        return multi_pair::exchange(shape_.method, ring_, iterations);
    }
  }

  /// Rank 0 decides, so that all do alike.
  bool goes_on(std::int64_t tries, double passed_s) {
    const InMpi mark;
    const std::int64_t count = std::ssize(begins_);
    int more = wants_sample(count, tries, passed_s, options_.samples, kFewSamples, options_.budget_s) ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, group_.control);
    return more != 0;
  }

  /// One sample. Where a rank was late to it, it is left out, and the next has its number.
  void sample(std::int64_t number) {
    if (is_ring(shape_.kernel)) turn_to(number);
    messages_.fill_sample(number);
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    const bool late = start_.any_late(timed(begin_ns, end_ns));
    messages_.check_sample(number);
    if (late && !yields_) {
      ++series_.late;
      return;
    }
    begins_.push_back(begin_ns);
    ends_.push_back(end_ns);
  }

  Beginning timed(std::int64_t& begin_ns, std::int64_t& end_ns) {
    const std::int64_t start_ns = start_.agree();
    if (options_.inject == Inject::late && last_ && ++samples_ % kInjectedEvery == 0) {
      nanosleep(&kInjectedLate, nullptr);
    }
    begin_ns = clock_.now_ns();
    const bool is_here = begin_ns <= start_ns;
    if (begin_ns < start_ns) begin_ns = collectives::wait_until(clock_, start_ns, yields_);
    {
      const InMpi mark;
      exchange(series_.iterations);
      if (is_slow_) nanosleep(&kInjectedSlow, nullptr);
    }
    end_ns = clock_.now_ns();
    if (!is_here) return Beginning::not_here;
    const auto most_ns = std::max(kLeastLateNs, static_cast<std::int64_t>(1e9 * kLateShare * options_.sample_s));
    return begin_ns - start_ns > most_ns ? Beginning::held_up : Beginning::in_time;
  }

  /// So many iterations that a sample is long enough for every rank: by the shortest of three counts, so that one that
  /// was held up does not make all samples too short.
  std::int64_t calibrated() {
    const InMpi mark;
    for (std::int64_t iterations = 1;;) {
      std::array<double, 3> seconds{};
      for (double& one : seconds) {
        MPI_Barrier(group_.control);
        const double begin_s = now_s();
        exchange(iterations);
        one = now_s() - begin_s;
      }
      MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                    group_.control);
      const double least_s = *std::min_element(seconds.begin(), seconds.end());
      if (least_s >= options_.sample_s) return iterations;
      const double factor = std::clamp(1.2 * options_.sample_s / std::max(least_s, 1e-9), 1.1, 8.0);
      iterations = static_cast<std::int64_t>(std::ceil(static_cast<double>(iterations) * factor));
    }
  }

  /// What osu_mbw_mr and osu_multi_lat make of it: a barrier, a loop, the mean of the senders' times: seconds of a
  /// window, or of a message. Where a loop would take longer than the budget it has fewer turns. 0: not measured.
  double osu_loop() {
    if (shape_.kernel != Kernel::bandwidth && shape_.kernel != Kernel::latency) return 0;
    const InMpi mark;
    const std::size_t large = shape_.bytes > kOsuLarge ? 1 : 0;
    const std::int64_t most = (shape_.kernel == Kernel::latency ? kOsuTrips : kOsuWindows)[large];
    const double turn_s = options_.sample_s / static_cast<double>(series_.iterations);
    auto loops = std::clamp(static_cast<std::int64_t>(options_.budget_s / turn_s), std::min(kLeastLoops, most), most);
    MPI_Bcast(&loops, 1, MPI_INT64_T, 0, group_.control);
    exchange(loops / 10);
    MPI_Barrier(group_.data);
    const double begin_s = now_s();
    exchange(loops);
    // Of the latency OSU takes the mean of both sides; the sides of a round trip differ by less than one.
    double mean_s = end_.leads ? (now_s() - begin_s) / static_cast<double>(loops) : 0;
    MPI_Allreduce(MPI_IN_PLACE, &mean_s, 1, MPI_DOUBLE, MPI_SUM, group_.control);
    mean_s /= static_cast<double>(shape_.pairs.size());
    return shape_.kernel == Kernel::latency ? mean_s / 2 : mean_s;
  }

  std::vector<std::int64_t> gathered(const std::vector<std::int64_t>& own) {
    std::vector<std::int64_t> shared(own.size());
    std::transform(own.begin(), own.end(), shared.begin(), [&](auto stamp) { return clock_.shared_ns(stamp); });
    std::vector<std::int64_t> all(group_.rank == 0 ? own.size() * group_.members.size() : 0);
    const int count = static_cast<int>(own.size());
    MPI_Gather(shared.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, 0, group_.control);
    return all;
  }

  void gather() {
    const InMpi mark;
    std::array<double, 2> errors = {clock_.error_ns(), options_.inject == Inject::clock ? clock_.true_error_ns() : -1};
    MPI_Allreduce(MPI_IN_PLACE, errors.data(), 2, MPI_DOUBLE, MPI_MAX, group_.control);
    series_.clock_error_s = 2e-9 * errors[0];
    series_.clock_true_error_s = errors[1] < 0 ? -1 : 2e-9 * errors[1];
    series_.stamps.samples = begins_.size();
    series_.stamps.begins = gathered(begins_);
    series_.stamps.ends = gathered(ends_);
    const Wrong& own = messages_.wrong();
    const std::array<std::int64_t, 3> mine = {own.count, own.byte, own.sender};
    std::vector<std::int64_t> all(mine.size() * group_.members.size());
    MPI_Gather(mine.data(), 3, MPI_INT64_T, all.data(), 3, MPI_INT64_T, 0, group_.control);
    for (std::size_t rank = 0; rank < group_.members.size(); ++rank) {
      const std::int64_t* theirs = &all[mine.size() * rank];
      if (theirs[0] > 0 && series_.wrong.count == 0) {
        series_.wrong = {0, theirs[1], static_cast<int>(theirs[2]), static_cast<int>(rank)};
      }
      series_.wrong.count += theirs[0];
    }
  }

  const Group& group_;
  SharedClock& clock_;
  const Options& options_;
  const Shape& shape_;
  bool yields_;
  bool last_;
  AgreedStart start_;
  Messages messages_;
  pingpong::End end_;
  RingEnd ring_;
  bool is_slow_ = false;
  int samples_ = 0;
  std::vector<std::int64_t> begins_;
  std::vector<std::int64_t> ends_;
  Series series_;
};

}  // namespace

std::uint64_t buffer_bytes(const Shape& shape, int window) {
  return 4 * static_cast<std::uint64_t>(Messages::slots(shape, window)) * Messages::stride(shape.bytes);
}

Series measure(const Ranks& ranks, const Group& group, SharedClock& clock, const Options& options, const Shape& shape) {
  return CaseRun(ranks, group, clock, options, shape).run();
}

}  // namespace shakedown::multi_pair
