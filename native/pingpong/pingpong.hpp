// The interface of pingpong: messages between two ranks, for one pair or for every pair of the job.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "common/job.hpp"
#include "common/memory.hpp"
#include "common/rest.hpp"
#include "common/watch.hpp"
#include "kernels.hpp"
#include "rounds.hpp"

namespace shakedown::pingpong {

/// Damage done on purpose between a message's arrival and its check: tests see the check fail.
enum class Inject { none, flip, stale, swap, hang };

struct Options {
  std::vector<std::size_t> sizes;  // bytes
  std::vector<Kernel> kernels;
  int window = 64;             // messages under way at once in the bandwidth kernels
  std::int64_t samples = 100;  // at least so many per case
  double budget_s = 0.5;       // but a case that has a few ends after so long
  double seconds = 0;          // each case lasts at least so long
  double sample_s = 100e-6;    // a sample is made at least so long
  std::string pairs = "first";
  bool tournament = false;
  bool between_hosts = false;    // one rank of each host takes part
  bool both_directions = false;  // the bandwidth kernel also from the higher rank to the lower
  int passes = 1;
  int most_rounds = 0;   // of each pass; 0: all
  double limit_s = 0;    // no round begins after so long; 0: no limit
  double silent_s = 60;  // a pair that takes so much longer than it should is named, and the job ends; 0: never
  std::string skip;
  std::string cpus;
  bool allow_oversubscribe = false;
  bool verify = true;
  Pages pages = Pages::huge;
  Inject inject = Inject::none;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

// ------------------------------------------------------------------------------------------------ the job: world.cpp

struct Rank {
  std::string host;
  int cpu = 0;  // the one that the kernel says it is bound to
  int pid = 0;
};

struct World {
  int rank = 0;
  int size = 0;
  MPI_Comm control = MPI_COMM_NULL;  // commands, results
  MPI_Comm data = MPI_COMM_NULL;     // what is timed
  std::vector<Rank> ranks;
  [[nodiscard]] Object facts() const;
};

/// Pin every rank and gather where all of them are. Throws on every rank alike: a usage error for fewer than two ranks,
/// "could not measure" where two would share a CPU and that was not allowed.
World join(const Options& options);

// ----------------------------------------------------------------------------------------------- one pair: pair.cpp

/// One message size with one kernel.
struct Shape {
  Kernel kernel = Kernel::latency;
  std::size_t bytes = 0;
};

/// What the leader of a pair measured. A sample is `iterations` round trips (latency) or windows.
struct Series {
  std::int64_t iterations = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t wrong = 0;  // bytes that were not what was sent and messages that were not sent, on both sides
  std::vector<double> seconds;
};

/// What each sample did: messages, and bytes of content, in all directions together.
Object work_of(const Shape& shape, const Options& options, std::int64_t iterations);

/// A rank's buffers: touched, and large enough for every shape.
class Buffers {
 public:
  static constexpr int kMostSlots = 64;
  Buffers() = default;
  explicit Buffers(const Options& options);
  [[nodiscard]] std::span<std::uint8_t> out(std::size_t bytes, int slot = 0) const { return at(out_, bytes, slot); }
  [[nodiscard]] std::span<std::uint8_t> in(std::size_t bytes, int slot = 0) const { return at(in_, bytes, slot); }
  /// How many messages are checked whole, each in its own place: at least two.
  static int slots(const Shape& shape, int window);
  [[nodiscard]] std::string pages() const { return page_report(in_.data()).word(); }

 private:
  static std::span<std::uint8_t> at(const Buffer& buffer, std::size_t bytes, int slot);
  static std::size_t stride(std::size_t bytes);
  Buffer out_;
  Buffer in_;
};

/// Measure one case with `peer`: the leader keeps the time and returns the series, the other side obeys. The leader
/// ends its watch when it has what it needs. Both wait at the end for all ranks of the job (in a tournament under load,
/// so that every pair is measured beside all others).
Series lead(const World& world, const Options& options, const Buffers& buffers, const Shape& shape, int peer,
            double warm_s);
void follow(const World& world, const Options& options, const Buffers& buffers, const Shape& shape, int peer);

}  // namespace shakedown::pingpong
