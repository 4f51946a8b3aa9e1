// A case of several ranks that gets no answer: what rank 0 prints of it, and what a rank says that the others wait for.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "emit.hpp"
#include "ranks.hpp"
#include "watch.hpp"

namespace shakedown {

/// What to do where ranks wait for one that is named, or that printed nothing.
inline constexpr const char* kLookAtRanks =
    "look at the ranks that are named beside this, or at the node of one that printed nothing";

/// A case as it is called while it is waited for.
struct Awaited {
  std::string program;
  std::string kernel;
  Object params;
  std::string shown;  // for a person: "alltoall of 8 bytes by 4 ranks"
  std::string next;   // what to do where there is no answer
  std::string
      outside;  // of a rank that is not in MPI then, behind its name: "did not begin ...: the others wait for it"
};

/// From now on the case has `limit_s` until `unwatch`; else rank 0 prints it without a sample and with a check that
/// fails, and the job ends. Nothing for 0 seconds. Every rank calls it for itself.
inline void watch_case(const Ranks& ranks, double limit_s, const Awaited& awaited) {
  const std::string limit = std::to_string(static_cast<int>(limit_s)) + " s";
  std::string line;
  std::string says;
  if (ranks.rank == 0) {
    Object check;
    check.add("value", std::numeric_limits<double>::quiet_NaN()).add("limit", 0.0).add("kind", "no answer in " + limit);
    Object event;
    event.add("event", "case").add("kernel", awaited.kernel).add("params", awaited.params).add("work", Object());
    event.add("seconds", std::vector<double>()).add("residual", check);
    line = to_json(event) + '\n';
    says = awaited.program + ": no answer in " + limit + ": " + awaited.shown + "\n  next: " + awaited.next + '\n';
  }
  watch(limit_s, line, says,
        awaited.program + ": rank " + std::to_string(ranks.rank) + " on " + ranks.host_of(ranks.rank) + ' ' +
            awaited.outside + '\n');
}

}  // namespace shakedown
