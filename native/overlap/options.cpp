#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "collectives/word_sizes.hpp"
#include "common/args.hpp"
#include "overlap.hpp"

namespace shakedown::overlap {
namespace {

constexpr std::int64_t kMostTests = 100'000;

std::string operation_names() {
  std::string text;
  for (const auto& one : all_operations()) text += (text.empty() ? "" : ",") + name_of(one);
  return text;
}

Operation parse_operation(const std::string& word) {
  for (const auto& one : all_operations()) {
    if (word == name_of(one)) return one;
  }
  throw usage("unknown operation '" + word + "'", "known: " + operation_names());
}

constexpr std::array<std::pair<const char*, Inject>, 9> kDamages = {{{"none", Inject::none},
                                                                     {"flip", Inject::flip},
                                                                     {"lost", Inject::lost},
                                                                     {"late", Inject::late},
                                                                     {"clock", Inject::clock},
                                                                     {"hang", Inject::hang},
                                                                     {"asynchronous", Inject::asynchronous},
                                                                     {"stalled", Inject::stalled},
                                                                     {"handshake", Inject::handshake}}};

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "How much of a non-blocking MPI operation's time a computation hides, with and without MPI_Test in it.\n"
            "Start it with the mpirun of the MPI it was built with, on 2 or more ranks; each pins itself to a CPU.");
  Options options;
  for (const auto& word :
       args.words("operations", "send,receive,exchange,ibcast,iallreduce,iallgather,ialltoall",
                  "what to measure, between commas: messages between the first and the last rank, by "
                  "which of them computes meanwhile (send, receive, exchange: both), and collectives "
                  "of all ranks (ibarrier, ibcast, ...)")) {
    options.operations.push_back(parse_operation(word));
  }
  options.sizes = collectives::word_sizes(
      args.integers("sizes", "8,4096,65536,1048576", 8,
                    "bytes of the message, of the vector, or of each rank's block; multiples of 8"));
  for (const auto count :
       args.integers("tests", "0,16", 0, "calls of MPI_Test during the computation, at most 100000")) {
    if (count > kMostTests) throw usage("--tests: " + std::to_string(count) + " is too many", "at most 100000");
    options.tests.push_back(static_cast<int>(count));
  }
  options.computation =
      args.real("computation", 1.25, 0.01, "the computation takes so many times the time of the operation alone", 1000);
  options.samples = args.integer("samples", 100, 1, "so many samples of each way");
  options.budget_s =
      args.real("budget-s", 1, 0, "a case that has 10 samples ends after so many seconds, even with fewer than asked");
  options.silent_s =
      args.real("silent-s", 60, 0, "a case without an answer for so many seconds ends the job; 0: never");
  options.ranks = ranks_wanted(args, "overlap");
  options.verify = !args.flag("no-verify", "do not check what arrives");
  options.pages = parse_pages(args.text("pages", "huge", "pages of the buffers: huge, base or hugetlb"));
  options.inject =
      named(args.text("inject", "none",
                      "for tests: flip or lost words; late; clock: wrong clocks; hang; asynchronous, stalled "
                      "or handshake: a network in simulated time that makes progress so"),
            "damage", kDamages);
  args.finish();
  if (options.operations.empty() || options.sizes.empty() || options.tests.empty()) {
    throw usage("there is nothing to measure", "see --help");
  }
  return options;
}

}  // namespace shakedown::overlap
