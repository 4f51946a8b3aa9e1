#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "collectives.hpp"
#include "common/args.hpp"
#include "word_sizes.hpp"

namespace shakedown::collectives {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

std::string all_operations() {
  std::string text;
  for (int i = 0; i < kOperations; ++i) text += std::string(i > 0 ? "," : "") + name_of(static_cast<Operation>(i));
  return text;
}

Operation parse_operation(const std::string& word) {
  for (int i = 0; i < kOperations; ++i) {
    if (word == name_of(static_cast<Operation>(i))) return static_cast<Operation>(i);
  }
  throw usage("unknown operation '" + word + "'", "known: " + all_operations());
}

constexpr std::array<std::pair<const char*, Inject>, 9> kDamages = {{{"none", Inject::none},
                                                                     {"flip", Inject::flip},
                                                                     {"swap", Inject::swap},
                                                                     {"lost", Inject::lost},
                                                                     {"late", Inject::late},
                                                                     {"slow", Inject::slow},
                                                                     {"clock", Inject::clock},
                                                                     {"hang", Inject::hang},
                                                                     {"lag", Inject::lag}}};

constexpr std::array<std::pair<const char*, Nearness>, 4> kPlacements = {
    {{"cache", Nearness::cache}, {"socket", Nearness::socket}, {"host", Nearness::host}, {"hosts", Nearness::hosts}}};

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "Collective operations of MPI ranks, each beside its mock-ups: from the first rank's entry to the last's exit.\n"
      "Start it with the mpirun of the MPI it was built with, on 2 or more ranks; each pins itself to a CPU.");
  Options options;
  for (const auto& word : args.words("operations", all_operations(), "what to measure, between commas")) {
    options.operations.push_back(parse_operation(word));
  }
  options.sizes = word_sizes(args.integers("sizes", "8,64,512,4096,32768,262144,1048576", 8,
                                           "bytes of the vector, or of each rank's block; multiples of 8"));
  for (const auto count : args.integers("groups", "0", 0, "so many ranks take part, the lowest; 0: all")) {
    options.groups.push_back(static_cast<int>(std::min(count, kMostInt)));
  }
  for (const auto& word : args.words("placements", "",
                                     "and the ranks that have so much in common with the first one: cache, socket, "
                                     "host, hosts"))
    options.placements.push_back(named(word, "placement", kPlacements));
  for (const auto root : args.integers("roots", "0", -1, "root ranks of operations that have one; -1: the last")) {
    options.roots.push_back(static_cast<int>(std::min(root, kMostInt)));
  }
  options.rounds = args.text("rounds", "",
                             "a file of rounds, one a line, of groups that measure at the same time, one a word: "
                             "n1,n2,n3 n4,n5,n6; hosts by name or ranks by number");
  options.in_place = args.flag("in-place", "also in place, where the operation can be");
  options.nonblocking = args.flag("non-blocking", "also the non-blocking form, followed by a wait");
  options.mockups = !args.flag("no-mock-ups", "only the operations, not what they must not be slower than");
  options.point_to_point = !args.flag("no-point-to-point", "do not measure what the bounds are made of");
  options.samples = args.integer("samples", 100, 1, "so many repetitions of each case by each method");
  options.budget_s = args.real("budget-s", 0.5, 0,
                               "a case that has 10 repetitions ends after so many seconds, even with fewer than asked");
  options.silent_s =
      args.real("silent-s", 60, 0, "a case without an answer for so many seconds ends the job; 0: never");
  options.ranks = ranks_wanted(args, "collectives");
  options.verify = !args.flag("no-verify", "do not check what arrives");
  options.pages = parse_pages(args.text("pages", "huge", "pages of the buffers: huge, base or hugetlb"));
  options.inject = named(
      args.text("inject", "none", "for tests: flip, swap or lost words; late, slow; clock: wrong clocks; hang; lag"),
      "damage", kDamages);
  args.finish();
  if (options.operations.empty() || options.sizes.empty() || options.groups.empty() || options.roots.empty()) {
    throw usage("there is nothing to measure", "see --help");
  }
  return options;
}

}  // namespace shakedown::collectives
