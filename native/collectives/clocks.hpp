// One clock for all ranks, and a start on it that all agree on.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "clock_sync.hpp"

namespace shakedown::collectives {

/// The clock of a group of ranks, which is that of its rank 0. Ranks that share a kernel's clock, by the boot and the
/// time namespace of both, prove by exchanges of stamps that no offset between them is possible but none; every other
/// clock is followed by such exchanges with rank 0's.
class SharedClock {
 public:
  /// Collective over `control`. `planted`: ranks' clocks are made wrong on purpose, in proportion to their rank.
  SharedClock(MPI_Comm control, bool planted);
  ~SharedClock();
  SharedClock(const SharedClock&) = delete;
  SharedClock& operator=(const SharedClock&) = delete;

  /// This rank's own clock, in nanoseconds: CLOCK_MONOTONIC_RAW, which NTP does not bend.
  [[nodiscard]] std::int64_t now_ns() const;
  /// Exchange stamps again; from then on `shared_ns` holds best from `since_ns` of this rank's clock to now.
  /// Collective.
  void synchronise(std::int64_t since_ns);
  [[nodiscard]] std::int64_t shared_ns(std::int64_t own_ns) const { return own_ns - offset_at(own_ns); }
  [[nodiscard]] std::int64_t own_ns(std::int64_t shared_ns) const;
  /// How wrong a time of this rank can be at most, since `since_ns` of the last call.
  [[nodiscard]] double error_ns() const { return segment_.error_ns; }
  /// Where clocks are wrong on purpose: how wrong a time of this rank really is, at the ends of that time.
  [[nodiscard]] double true_error_ns() const;
  /// How many clocks the group has.
  [[nodiscard]] int clocks() const { return clocks_; }

 private:
  struct Segment {
    std::int64_t begin_ns = 0;  // of this rank's clock, as all below
    std::int64_t end_ns = 0;
    std::int64_t begin_offset_ns = 0;
    std::int64_t end_offset_ns = 0;
    double error_ns = 0;
  };
  void split();
  [[nodiscard]] std::int64_t offset_at(std::int64_t own_ns) const;
  [[nodiscard]] double planted_at(std::int64_t raw_ns) const;
  MPI_Comm control_ = MPI_COMM_NULL;
  MPI_Comm same_clock_ = MPI_COMM_NULL;
  std::vector<int> leaders_;  // the lowest rank of each clock
  int rank_ = 0;
  int clocks_ = 1;
  ClockModel model_;
  Segment segment_;
  bool planted_ = false;
  std::int64_t planted_since_ns_ = 0;
};

/// How a rank began a repetition: in time; held up after it had waited for the start, by another program; or not here
/// yet at the start.
enum class Beginning : int { in_time, held_up, not_here };

/// Starts that all ranks of a group agree on.
class AgreedStart {
 public:
  AgreedStart(MPI_Comm control, const SharedClock& clock);
  /// When to begin, by this rank's clock. Collective.
  std::int64_t agree();
  /// Whether any rank was late. Where more than one in ten starts find a rank not here, the next are further off, and
  /// nearer again where none does: who waits long is held up more often. Collective.
  bool any_late(Beginning mine);
  [[nodiscard]] double slack_s() const { return static_cast<double>(slack_ns_) * 1e-9; }

 private:
  MPI_Comm control_;
  const SharedClock& clock_;
  int rank_ = 0;
  std::int64_t slack_ns_ = 0;
  std::int64_t least_slack_ns_ = 0;
  int starts_ = 0;
  int not_here_ = 0;
};

}  // namespace shakedown::collectives
