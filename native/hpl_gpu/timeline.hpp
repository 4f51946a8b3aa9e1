// Where the seconds of a factorization went, from when each step began and ended.
#pragma once

#include <vector>

#include "hpl/hpl.hpp"
#include "schedule.hpp"

namespace shakedown::hpl_gpu {

struct Interval {
  Lane lane = Lane::host;
  Op op = Op::load;
  double begin = 0, end = 0;  // seconds from the start
};

/// Something that was going on, and which of the layers it belongs to.
struct Layered {
  double begin = 0, end = 0;
  std::size_t layer = 0;
};
/// Of the time from 0 to `until`: the seconds of each layer in which it went on and none above it (with a lower number)
/// did; after these, those in which nothing went on.
std::vector<double> uncover(const std::vector<Layered>& all, std::size_t layers, double until);

/// Every moment up to `until` goes to one account: while the lane of the update is busy, to what it does (update,
/// solve, rows); else, while the panel's lane is, to panel; else, while the lane of the rows is, to rows; else, while
/// the host is in MPI, to messages; else to wait. What is after `until`, up to `wall`, is other. They sum to `wall`.
hpl::Shares account(const std::vector<Interval>& intervals, double until, double wall);

/// The seconds in which a panel was factored, whatever happened beside it.
double panel_seconds(const std::vector<Interval>& intervals);

}  // namespace shakedown::hpl_gpu
