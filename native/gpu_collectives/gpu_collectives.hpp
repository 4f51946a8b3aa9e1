// The interface of gpu_collectives: collective operations of a node's GPUs by NCCL or RCCL, each result checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/program.hpp"
#include "kernels.hpp"
#include "nccl_log.hpp"
#include "operations.hpp"
#include "ranks.hpp"

namespace shakedown::gpu_collectives {

struct Options {
  gpu::Choice choice;
  std::string nccl;                   // auto, or a path
  std::vector<Operation> operations;  // what is measured
  std::vector<std::size_t> sizes;     // bytes, as nccl-tests counts them
  std::vector<int> groups;            // so many GPUs take part, the lowest; 0: all
  std::string rounds;                 // a file of rounds of groups that measure at the same time; empty: none
  std::vector<bool> places;           // out of place (false), in place (true)
  int type = kFloat;
  std::string links;  // what lies between the GPUs: switch, nvlink, pcie, unknown
  std::string log;    // where the library's log goes; empty: nowhere but here
  std::int64_t samples = 20;
  std::int64_t warm_ups = 5;
  double seconds = 0;      // each case lasts at least so long
  double sample_s = 2e-3;  // a sample is one call, or as many as last so long
  double silent_s = 5;     // no answer for so long is a hang
  double try_s = 2;        // and then, of a small operation of one GPU or of a pair
  double join_s = 60;      // communicators take so long at most
  bool says_algorithm = true;
  bool spoil = false;
  bool verify = true;
};
/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

/// The first wrong element of a result.
struct Wrong {
  double count = 0;  // elements, over all ranks and checks
  int seat = -1;
  std::uint64_t element = 0;
  Word found = 0, expected = 0;
};

struct Measured {
  std::vector<double> seconds;  // of each sample, on the rank where it took longest
  std::int64_t calls = 1;       // in each sample
  std::vector<TimeSpan> spans;  // of each sample: checks lie between them
  Wrong wrong;
};

/// Buffers of all ranks, and one case after another on them.
class Bench {
 public:
  /// Buffers for cases of up to `bytes`. Throws gpu::Failure where a GPU has no room.
  Bench(Ranks& ranks, const Nccl& nccl, const Options& options, std::size_t bytes);
  /// One case on these groups at the same time, each of which is connected. A sample of all begins when all are there;
  /// `shape.ranks` is that of the largest. Trouble where one of them failed or did not answer.
  std::optional<Trouble> measure(const Shape& shape, const std::vector<std::vector<int>>& groups,
                                 std::vector<Measured>& measured);
  /// A small all-reduce of each of these groups at once, for whoever looks for a rank that does not answer.
  std::optional<Trouble> try_groups(const std::vector<std::vector<int>>& groups, double limit_s);

 private:
  struct Memory {
    Memory(gpu::Device& device, std::size_t bytes);
    gpu::Array<char> from, to;
    gpu::Array<Word> wrong;
    MakeInput make_input;
    Compare compare;
    gpu::Event begin, end;
    double took_s = 0;
    TimeSpan span;
    Wrong found;
  };
  struct Places {
    char* from;
    char* to;
  };
  Memory& memory_of(const Rank& rank) { return *memories_[static_cast<std::size_t>(rank.seat)]; }
  Places places(const Shape& shape, const Rank& rank);
  void issue(const Shape& shape, Rank& rank);
  void issue_messages(const Shape& shape, Rank& rank, const Places& at);
  void prepare(const Shape& shape, Rank& rank, Word seed);
  void spoil(const Shape& shape, Rank& rank);
  void check(const Shape& shape, Rank& rank, Word seed);
  void locate(const Shape& shape, Rank& rank, Word seed);
  void timed(const Shape& shape, Rank& rank, std::int64_t calls);
  static Shape of(Shape shape, const Rank& rank);
  std::optional<Trouble> checked_call(const Shape& whole, const std::vector<int>& seats, Word seed, double expected_s);
  std::optional<Trouble> sample(const Shape& shape, const std::vector<int>& seats, double once_s, std::int64_t calls,
                                bool check_too);
  double slowest(const std::vector<int>& seats) const;
  TimeSpan span_of(const std::vector<int>& seats) const;
  void collect(const std::vector<int>& seats, Wrong& wrong) const;

  Ranks& ranks_;
  const Nccl& nccl_;
  const Options& options_;
  std::vector<std::unique_ptr<Memory>> memories_;
};

/// Whom a hang is the fault of, by small operations of each GPU alone and of pairs of neighbours.
struct Cause {
  std::vector<int> leave_out;
  std::string text;
};
Cause find_cause(Ranks& ranks, Bench& bench, const std::vector<int>& seats, const Trouble& trouble, double try_s);

}  // namespace shakedown::gpu_collectives
