// The interface of overlap: how much of a non-blocking operation's time is hidden behind a computation.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/clocks.hpp"
#include "collectives/rank_group.hpp"
#include "common/emit.hpp"
#include "common/memory.hpp"
#include "common/ranks.hpp"
#include "operations.hpp"
#include "planted.hpp"

namespace shakedown::overlap {

/// Damage done on purpose, so that tests see it found. flip, lost: in what arrived at the last rank that gets anything,
/// before its check; late: the last rank is late to every fifth round; clock: wrong clocks; hang: the last rank stops.
/// asynchronous, none, handshake: progress by simulated time, so that the share that is hidden is known (planted.hpp).
enum class Inject : std::uint8_t { none, flip, lost, late, clock, hang, asynchronous, stalled, handshake };

struct Options {
  std::vector<Operation> operations;
  std::vector<std::size_t> sizes;  // bytes of the message, of the vector, or of each block; multiples of a word
  std::vector<int> tests;          // calls of MPI_Test during a computation
  double computation = 1.25;       // its length: so many times that of the operation alone
  std::int64_t samples = 100;
  double budget_s = 1;
  double silent_s = 60;
  RanksWanted ranks;
  bool verify = true;
  Pages pages = Pages::huge;
  Inject inject = Inject::none;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

struct Shape {
  Operation operation;
  std::size_t bytes = 0;
};

/// All ranks, or the first and the last.
using Group = RankGroup;

/// What a way of doing it gave, on rank 0. Sample i of one way was taken beside sample i of the others.
struct Series {
  std::vector<double> seconds;      // last exit less first entry, on one clock
  std::vector<double> mpi_seconds;  // of ways with both: in MPI's calls, of the rank that was longest in them
  // Of those calls, each the median of the rank where it is the longest.
  double post_s = 0;
  double test_s = 0;
  double wait_s = 0;
};

struct CaseResult {
  Series pure;                  // the operation alone: post and wait
  Series computing;             // the computation alone
  std::vector<Series> both;     // by the numbers of tests
  std::int64_t late = 0;        // samples that not all ranks began in time, each made again
  std::int64_t iterations = 0;  // of the computation
  double clock_error_s = 0;     // of a time, at most, from the clocks of two hosts
  double clock_true_error_s = -1;
  std::int64_t wrong = 0;  // words
  int wrong_rank = -1;     // of the group, the first that has a wrong word
  std::int64_t wrong_word = -1;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Bytes that a rank's buffers of a case take.
std::uint64_t buffer_bytes(const Shape& shape, int ranks);

/// Measure a case. Every rank of the group calls it.
CaseResult measure(const Ranks& ranks, const Group& group, collectives::SharedClock& clock, const Options& options,
                   const Shape& shape);

}  // namespace shakedown::overlap
