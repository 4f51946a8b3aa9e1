// The interface of collectives: collective operations of a job's ranks, each beside its mock-ups.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "calls.hpp"
#include "clocks.hpp"
#include "common/emit.hpp"
#include "common/memory.hpp"
#include "common/rank_places.hpp"
#include "common/ranks.hpp"
#include "content.hpp"

namespace shakedown::collectives {

/// Damage done on purpose, so that tests see it found. flip, swap, lost: in what arrived, before its check; late: the
/// last rank is late to every fifth repetition; slow: the library's operation is done five times; hang: the last rank
/// stops; lag: the last rank of the job takes 20 ms more for every call.
enum class Inject { none, flip, swap, lost, late, slow, clock, hang, lag };

struct Options {
  std::vector<Operation> operations;
  std::vector<std::size_t> sizes;    // bytes of the vector, or of each block; multiples of a word
  std::vector<int> groups;           // so many ranks take part, the lowest; 0: all
  std::vector<Nearness> placements;  // and the ranks that have so much in common with the first one
  std::vector<int> roots;            // -1: the last rank
  std::string rounds;                // a file of rounds of groups that measure at the same time; empty: none
  bool in_place = false;             // also in place
  bool nonblocking = false;          // also by the non-blocking form
  bool mockups = true;
  bool point_to_point = true;  // what the bounds are made of
  std::int64_t samples = 100;
  double budget_s = 0.5;
  double silent_s = 60;
  RanksWanted ranks;
  bool verify = true;
  Pages pages = Pages::huge;
  Inject inject = Inject::none;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

// ------------------------------------------------------------------------------------------------ the job: world.cpp

using World = Ranks;
/// Pin every rank and gather where all of them are. Throws on every rank alike.
World join(const Options& options);

/// The ranks of the job that take part in a case. A rank outside has no communicators.
struct Group {
  int size = 0;
  int rank = 0;                      // this one, of the group
  MPI_Comm data = MPI_COMM_NULL;     // what is timed
  MPI_Comm control = MPI_COMM_NULL;  // agreements, results
};
/// Disjoint groups, each of a number of its own: `members` are those of this rank's group, in their order, and none
/// with a number below 0. Every rank of the job calls it.
Group group_among(const World& world, const std::vector<int>& members, int number);
/// Give its communicators back, where it has some.
void leave(Group& group);
/// Wait asleep until all ranks of the job are here.
void rest(const World& world);

// --------------------------------------------------------------------------------------------- one case: measure.cpp

struct Shape {
  Operation operation = Operation::barrier;
  std::size_t bytes = 0;
  int root = 0;
  bool in_place = false;
};

/// What one method of a case gave, on rank 0.
struct Series {
  std::string method;
  std::vector<double> seconds;       // last exit less first entry
  std::vector<double> late_seconds;  // of repetitions that not all ranks began in time, each done again
  double osu_s = 0;                  // as the OSU micro-benchmarks define it; 0: not measured
  std::int64_t wrong = 0;            // words; of a barrier, repetitions that a rank left before all had entered
  int wrong_rank = -1;               // the first that has a wrong word
  std::int64_t wrong_word = -1;
};

struct CaseResult {
  std::vector<Series> series;
  double clock_error_s = 0;        // of a time, at most, from the clocks of two hosts
  double clock_true_error_s = -1;  // where the clocks' offsets are planted
  double slack_s = 0;              // from the agreement to the agreed start
};

/// Bytes that a rank's buffers of a case take.
std::uint64_t buffer_bytes(const Shape& shape, int ranks);

/// Measure a case by all its methods, in turn. Every rank of the group calls it.
CaseResult measure(const World& world, const Group& group, SharedClock& clock, const Options& options,
                   const Shape& shape);

// ------------------------------------------------------------------------- groups that measure at once: groups.cpp

/// The rounds of a file: all groups of a round measure at the same time, and each is a case `group` with its members.
/// Every rank of the job calls it.
void measure_rounds(Emitter& emitter, const World& world, const Options& options);

// ---------------------------------------------------------------- what the bounds are made of: point_to_point.cpp

/// Messages between two ranks: the two lowest of a host, and the lowest of two hosts. Cases `prtt` (LogP by Hoefler's
/// method), `port` and `reduce_local`, for rank 0 to print. Every rank of the job calls it.
std::vector<Case> point_to_point(const World& world, const Options& options);

}  // namespace shakedown::collectives
