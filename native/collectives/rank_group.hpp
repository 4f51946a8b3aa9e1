// The ranks of a job that take part in a case, with a clock of theirs: one group after another.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "clocks.hpp"
#include "common/emit.hpp"
#include "common/ranks.hpp"
#include "common/silence.hpp"

namespace shakedown {

/// By their numbers in the job. A rank outside has no communicators.
struct RankGroup {
  std::vector<int> members;  // in ascending order; a rank of the group is a place in it
  int rank = -1;             // this one; -1: it does not take part
  MPI_Comm data = MPI_COMM_NULL;
  MPI_Comm control = MPI_COMM_NULL;
};

/// The group that is measured now. Every rank of the job makes the same calls.
class CurrentGroup {
 public:
  /// `planted`: wrong clocks, for tests.
  CurrentGroup(Emitter& emitter, const Ranks& ranks, bool planted)
      : emitter_(emitter), ranks_(ranks), planted_(planted) {}

  [[nodiscard]] const RankGroup& operator*() const { return group_; }
  [[nodiscard]] const RankGroup* operator->() const { return &group_; }
  /// Of the ranks of the group alone.
  [[nodiscard]] collectives::SharedClock& clock() { return *clock_; }

  /// Leave the former group, where it is another, and join this one.
  void join(const std::vector<int>& members) {
    if (members == group_.members) return;
    const InMpi mark;
    leave();
    const auto mine = std::lower_bound(members.begin(), members.end(), ranks_.rank);
    const bool inside = mine != members.end() && *mine == ranks_.rank;
    group_.members = members;
    group_.rank = inside ? static_cast<int>(mine - members.begin()) : -1;
    MPI_Comm_split(ranks_.control, inside ? 0 : MPI_UNDEFINED, ranks_.rank, &group_.data);
    if (!inside) return;
    MPI_Comm_dup(group_.data, &group_.control);
    clock_.emplace(group_.control, planted_);
    emitter_.facts(Object().add("clocks", clock_->clocks()));
  }

  /// Before MPI ends.
  void leave() {
    clock_.reset();
    for (auto* comm : {&group_.control, &group_.data}) {
      if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
    }
    group_ = {};
  }

 private:
  Emitter& emitter_;
  const Ranks& ranks_;
  bool planted_;
  RankGroup group_;
  std::optional<collectives::SharedClock> clock_;
};

}  // namespace shakedown
