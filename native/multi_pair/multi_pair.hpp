// The interface of multi_pair: messages of many ranks at once, in pairs and in rings.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/clocks.hpp"
#include "collectives/rank_group.hpp"
#include "common/emit.hpp"
#include "common/memory.hpp"
#include "common/ranks.hpp"
#include "figures.hpp"
#include "pairing.hpp"
#include "pingpong/kernels.hpp"
#include "rings.hpp"

namespace shakedown::multi_pair {

/// Damage done on purpose, so that tests see it found. flip, stale, swap, lost: in what arrived at the last rank,
/// before its check; slow: the last pair takes 20 ms more for every sample; late: the last rank is late to every fifth
/// sample; clock: wrong clocks; hang: the last rank stops.
enum class Inject : std::uint8_t { none, flip, stale, swap, lost, slow, late, clock, hang };

enum class Kernel : std::uint8_t { latency, bandwidth, bidirectional, natural_ring, random_ring };
const char* name_of(Kernel kernel);
bool is_ring(Kernel kernel);

struct Options {
  std::vector<Kernel> kernels;
  std::vector<Placement> placements;
  std::vector<int> pairs;  // at once; 0: as many as there are
  std::vector<std::size_t> sizes;
  int window = 64;  // messages under way at once in the bandwidth kernels
  int orders = 30;  // of the random ring
  std::int64_t samples = 100;
  double budget_s = 0.5;
  double sample_s = 100e-6;  // a sample is made at least so long
  double silent_s = 60;
  std::vector<std::string> rails;  // networks whose bytes are counted
  std::vector<std::string> rail;   // those of them that the messages must go by; empty: any
  RanksWanted ranks;
  bool verify = true;
  Pages pages = Pages::huge;
  Inject inject = Inject::none;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

using Group = RankGroup;

/// What is measured: pairs, whose ends are ranks of the group, or a ring of them all.
struct Shape {
  Kernel kernel = Kernel::bandwidth;
  std::size_t bytes = 0;
  std::vector<Pair> pairs;
  RingMethod method = RingMethod::sendrecv;
};

/// The first wrong byte, and how many there are; messages of a wrong length and those that nobody sent count, too.
struct Wrong {
  std::int64_t count = 0;
  std::int64_t byte = -1;  // -1: a message was too short, too long or too many
  int sender = -1;         // of the group
  int rank = -1;           // of the group, who received
};

/// What a case gave, on rank 0 of the group. A sample is `iterations` round trips, windows, or turns of a ring.
struct Series {
  std::int64_t iterations = 0;
  Stamps stamps;
  std::int64_t begin_ns = 0;  // of the first sample, in Unix time
  std::int64_t end_ns = 0;    // of the last
  std::int64_t late = 0;      // samples that not all ranks began in time, each done again
  double clock_error_s = 0;
  double clock_true_error_s = -1;  // where the clocks' offsets are planted
  double osu_s = 0;                // the senders' mean time of a window, or of a message, by OSU's loop
  Wrong wrong;
};

/// Measure a case. Every rank of the group calls it.
Series measure(const Ranks& ranks, const Group& group, collectives::SharedClock& clock, const Options& options,
               const Shape& shape);

/// Bytes that a rank's buffers of a case take.
std::uint64_t buffer_bytes(const Shape& shape, int window);

}  // namespace shakedown::multi_pair
