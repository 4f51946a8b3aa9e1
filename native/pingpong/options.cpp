#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/args.hpp"
#include "pingpong.hpp"

namespace shakedown::pingpong {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 20;  // of the default sizes

/// 0 and the powers of two to 4 MiB.
std::string default_sizes() {
  std::string text = "0";
  for (std::size_t size = 1; size <= kLargest; size *= 2) text += ',' + std::to_string(size);
  return text;
}

constexpr std::array<std::pair<const char*, Inject>, 5> kDamages = {{{"none", Inject::none},
                                                                     {"flip", Inject::flip},
                                                                     {"stale", Inject::stale},
                                                                     {"swap", Inject::swap},
                                                                     {"hang", Inject::hang}}};
constexpr std::array<std::pair<const char*, Kernel>, 3> kKernels = {
    {{"latency", Kernel::latency}, {"bandwidth", Kernel::bandwidth}, {"bidirectional", Kernel::bidirectional}}};

bool parse_between(const std::string& word) {
  if (word == "ranks") return false;
  if (word == "hosts") return true;
  throw usage("unknown ends '" + word + "' of --between", "known: ranks, hosts");
}

bool parse_rounds(const std::string& word) {
  if (word == "one") return false;
  if (word == "tournament") return true;
  throw usage("unknown rounds '" + word + "'", "known: one, tournament");
}

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "Messages between two MPI ranks, for one pair or for every pair: latency, bandwidth, both ways at once.\n"
            "Start it with the mpirun of the MPI it was built with, on 2 or more ranks; each pins itself to a CPU.");
  Options options;
  constexpr auto kMostInt = std::numeric_limits<int>::max();
  for (const auto size : args.integers("sizes", default_sizes(), 0, "message sizes in bytes, between commas")) {
    if (size > kMostInt) throw usage("--sizes: " + std::to_string(size) + " bytes are more than one MPI message takes");
    options.sizes.push_back(static_cast<std::size_t>(size));
  }
  for (const auto& word : args.words("kernels", "latency,bandwidth,bidirectional", "what to measure, between commas")) {
    options.kernels.push_back(named(word, "kernel", kKernels));
  }
  options.window = static_cast<int>(
      args.integer("window", 64, 1, "messages under way at once in the bandwidth kernels, at most 65536", 65536));
  options.samples = args.integer("samples", 100, 1, "so many samples of each case");
  options.budget_s = args.real("budget-s", 0.5, 0,
                               "a case that has 10 samples ends after so many seconds, even with fewer than asked");
  options.seconds = args.real("seconds", 0, 0, "each case lasts at least so many seconds");
  options.sample_s = 1e-6 * args.real("sample-us", 100, 1, "a sample is made at least so many microseconds long");
  options.pairs = args.text("pairs", "first", "which ranks: first (0 and 1), all, or a list such as 0-1,0-3");
  options.tournament =
      parse_rounds(args.text("rounds", "one", "one: a pair at a time; tournament: disjoint pairs at once"));
  options.between_hosts =
      parse_between(args.text("between", "ranks", "ranks: all take part; hosts: the first rank of each host does"));
  options.both_directions = args.flag("both-directions", "the bandwidth kernel also from the higher rank to the lower");
  options.passes = static_cast<int>(
      args.integer("passes", 1, 1, "so many tournaments, each with other pairs beside each other, at most 1000", 1000));
  options.most_rounds = static_cast<int>(
      args.integer("most-rounds", 0, 0, "the first so many rounds of each tournament; 0: all", kMostInt));
  options.limit_s = args.real("limit-s", 0, 0, "no round begins after so many seconds; 0: no limit");
  options.silent_s = args.real(
      "silent-s", 60, 0, "a pair that takes so many seconds more than it should is named and ends the job; 0: never");
  options.skip = args.text("skip", "", "pairs that are left out, such as 3-9,4-5");
  options.cpus = args.text("cpus", "", "pin the i-th rank of each host to the i-th CPU of this list");
  options.allow_oversubscribe = args.flag("allow-oversubscribe", "let ranks share a CPU: for tests, not for figures");
  options.verify = !args.flag("no-verify", "do not check what arrives");
  options.pages = parse_pages(args.text("pages", "huge", "pages of the message buffers: huge, base or hugetlb"));
  options.inject =
      named(args.text("inject", "none",
                      "damage what arrived, for tests: none, flip, stale or swap; hang: the last rank does not answer"),
            "damage", kDamages);
  args.finish();
  if (!(options.tournament && options.pairs == "all") &&
      (options.passes > 1 || options.most_rounds > 0 || !options.skip.empty())) {
    throw usage("--passes, --most-rounds and --skip are for a tournament of all",
                "add --pairs all --rounds tournament");
  }
  if (options.sizes.empty() || options.kernels.empty()) throw usage("there is nothing to measure", "see --help");
  return options;
}

}  // namespace shakedown::pingpong
