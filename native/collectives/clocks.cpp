#include "clocks.hpp"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string>

#include "common/clock.hpp"
#include "common/job.hpp"
#include "common/watch.hpp"

namespace shakedown::collectives {
namespace {

constexpr int kBatch = 25;  // exchanges: the least delay of so many is near the least there is
constexpr int kStampTag = 7;
constexpr int kBroadcasts = 21;
constexpr std::int64_t kLeastSlackNs = 2'000;
constexpr std::int64_t kMostSlackNs = 5'000'000;
constexpr int kStartsJudged = 20;
// Wrong clocks for tests: so far off, and so fast, for each rank.
constexpr double kPlantedOffsetNs = 12'300'000;
constexpr double kPlantedDrift = 3.1e-6;

/// What two processes have alike whose CLOCK_MONOTONIC_RAW is the same one: the boot of their kernel and their time
/// namespace. Empty where the kernel does not say.
std::string clock_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat found {};
  const bool has_namespace = stat("/proc/self/ns/time", &found) == 0;
  return boot.empty() ? "" : boot + (has_namespace ? " " + std::to_string(found.st_ino) : "");
}

/// This rank asks, `server` answers.
std::vector<StampExchange> ask(MPI_Comm comm, int server, const SharedClock& clock) {
  std::vector<StampExchange> batch(kBatch);
  for (auto& one : batch) {
    char question = 0;
    one.sent_ns = clock.now_ns();
    MPI_Sendrecv(&question, 1, MPI_CHAR, server, kStampTag, &one.served_ns, 1, MPI_INT64_T, server, kStampTag, comm,
                 MPI_STATUS_IGNORE);
    one.received_ns = clock.now_ns();
  }
  return batch;
}

void answer(MPI_Comm comm, int client, const SharedClock& clock) {
  for (int i = 0; i < kBatch; ++i) {
    char question = 0;
    MPI_Recv(&question, 1, MPI_CHAR, client, kStampTag, comm, MPI_STATUS_IGNORE);
    const std::int64_t served_ns = clock.now_ns();
    MPI_Send(&served_ns, 1, MPI_INT64_T, client, kStampTag, comm);
  }
}

}  // namespace

SharedClock::SharedClock(MPI_Comm control, bool planted) : control_(control), planted_(planted) {
  MPI_Comm_rank(control_, &rank_);
  planted_since_ns_ = read_clock_ns(CLOCK_MONOTONIC_RAW);
  split();
  synchronise(now_ns());
}

SharedClock::~SharedClock() {
  if (same_clock_ != MPI_COMM_NULL) MPI_Comm_free(&same_clock_);
}

/// Who has the same clock, by what the kernel says and by what the exchanges leave possible.
void SharedClock::split() {
  const auto identities = gather_words(control_, clock_identity());
  const auto& mine = identities[static_cast<std::size_t>(rank_)];
  const auto first = mine.empty() ? identities.begin() + rank_ : std::find(identities.begin(), identities.end(), mine);
  const int supposed = static_cast<int>(first - identities.begin());
  MPI_Comm together = MPI_COMM_NULL;
  MPI_Comm_split(control_, supposed, rank_, &together);
  int size = 0;
  int rank = 0;
  MPI_Comm_size(together, &size);
  MPI_Comm_rank(together, &rank);
  int colour = supposed;
  for (int client = 1; client < size; ++client) {
    if (rank == 0) {
      answer(together, client, *this);
    } else if (rank == client) {
      const auto bounds = intersect(ask(together, 0, *this));
      if (bounds && (bounds->low_ns > 0 || bounds->high_ns < 0)) colour = rank_;
    }
  }
  MPI_Comm_free(&together);
  MPI_Comm_split(control_, colour, rank_, &same_clock_);
  MPI_Comm_rank(same_clock_, &rank);
  const auto all = gather_lists(control_, {rank == 0 ? 1 : 0});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].front() == 1) leaders_.push_back(static_cast<int>(i));
  }
  clocks_ = static_cast<int>(leaders_.size());
}

double SharedClock::planted_at(std::int64_t raw_ns) const {
  return rank_ * (kPlantedOffsetNs + kPlantedDrift * static_cast<double>(raw_ns - planted_since_ns_));
}

std::int64_t SharedClock::now_ns() const {
  const std::int64_t raw_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  return planted_ ? raw_ns + std::llround(planted_at(raw_ns)) : raw_ns;
}

void SharedClock::synchronise(std::int64_t since_ns) {
  if (clocks_ == 1) {
    segment_ = {since_ns, now_ns(), 0, 0, 0};
    return;
  }
  for (const int leader : leaders_) {
    if (leader == 0) continue;
    if (rank_ == 0) answer(control_, leader, *this);
    if (rank_ == leader) {
      if (const auto bounds = intersect(ask(control_, 0, *this))) model_.add(*bounds);
    }
  }
  const bool leads = std::find(leaders_.begin(), leaders_.end(), rank_) != leaders_.end();
  Segment made{since_ns, now_ns(), 0, 0, 0};
  if (leads && rank_ != 0) {
    const Offset begin = model_.offset_at(made.begin_ns);
    const Offset end = model_.offset_at(made.end_ns);
    made.begin_offset_ns = begin.ns;
    made.end_offset_ns = end.ns;
    made.error_ns = std::max(begin.error_ns, end.error_ns);
  }
  MPI_Bcast(&made, sizeof made, MPI_BYTE, 0, same_clock_);
  segment_ = made;
}

std::int64_t SharedClock::offset_at(std::int64_t own_ns) const {
  const auto length = static_cast<double>(segment_.end_ns - segment_.begin_ns);
  if (length <= 0) return segment_.end_offset_ns;
  const double part = static_cast<double>(own_ns - segment_.begin_ns) / length;
  const auto change = static_cast<double>(segment_.end_offset_ns - segment_.begin_offset_ns);
  return segment_.begin_offset_ns + std::llround(part * change);
}

std::int64_t SharedClock::own_ns(std::int64_t shared_ns) const {
  const std::int64_t near = shared_ns + segment_.end_offset_ns;
  return shared_ns + offset_at(near);  // over the drift of a drift: nothing
}

double SharedClock::true_error_ns() const {
  const auto wrong = [&](std::int64_t own_ns, std::int64_t offset_ns) {
    // Invert now_ns: the planted offset at the raw time that this rank shows as own_ns.
    const double raw = static_cast<double>(own_ns - planted_since_ns_) - rank_ * kPlantedOffsetNs;
    const double truth = rank_ * (kPlantedOffsetNs + kPlantedDrift * raw / (1 + rank_ * kPlantedDrift));
    return std::abs(static_cast<double>(offset_ns) - truth);
  };
  return std::max(wrong(segment_.begin_ns, segment_.begin_offset_ns), wrong(segment_.end_ns, segment_.end_offset_ns));
}

AgreedStart::AgreedStart(MPI_Comm control, const SharedClock& clock) : control_(control), clock_(clock) {
  MPI_Comm_rank(control_, &rank_);
  std::array<std::int64_t, kBroadcasts> took{};
  for (auto& one : took) {
    MPI_Barrier(control_);
    std::int64_t word = 0;
    const std::int64_t begin_ns = clock_.now_ns();
    MPI_Bcast(&word, 1, MPI_INT64_T, 0, control_);
    one = clock_.now_ns() - begin_ns;
  }
  std::nth_element(took.begin(), took.begin() + kBroadcasts / 2, took.end());
  std::int64_t mine = took[kBroadcasts / 2];
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MAX, control_);
  slack_ns_ = least_slack_ns_ = std::clamp(3 * mine, kLeastSlackNs, kMostSlackNs);
}

std::int64_t AgreedStart::agree() {
  const InMpi mark;
  MPI_Barrier(control_);
  std::int64_t start_ns = rank_ == 0 ? clock_.now_ns() + slack_ns_ : 0;
  MPI_Bcast(&start_ns, 1, MPI_INT64_T, 0, control_);
  return clock_.own_ns(start_ns);
}

bool AgreedStart::any_late(Beginning mine) {
  const InMpi mark;
  int worst = static_cast<int>(mine);
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, control_);
  ++starts_;
  not_here_ += worst == static_cast<int>(Beginning::not_here) ? 1 : 0;
  if (starts_ >= kStartsJudged) {
    if (10 * not_here_ > starts_) slack_ns_ = std::min(2 * slack_ns_, kMostSlackNs);
    if (not_here_ == 0) slack_ns_ = std::max(slack_ns_ / 2, least_slack_ns_);
    starts_ = not_here_ = 0;
  }
  return worst != static_cast<int>(Beginning::in_time);
}

}  // namespace shakedown::collectives
