#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/args.hpp"
#include "multi_pair.hpp"

namespace shakedown::multi_pair {
namespace {

constexpr int kMostInt = std::numeric_limits<int>::max();

constexpr std::array<std::pair<const char*, Kernel>, 5> kKernels = {{{"latency", Kernel::latency},
                                                                     {"bandwidth", Kernel::bandwidth},
                                                                     {"bidirectional", Kernel::bidirectional},
                                                                     {"natural_ring", Kernel::natural_ring},
                                                                     {"random_ring", Kernel::random_ring}}};
constexpr std::array<std::pair<const char*, Placement>, 5> kPlacements = {{{"halves", Placement::halves},
                                                                           {"cache", Placement::cache},
                                                                           {"socket", Placement::socket},
                                                                           {"host", Placement::host},
                                                                           {"hosts", Placement::hosts}}};
constexpr std::array<std::pair<const char*, Inject>, 9> kDamages = {{{"none", Inject::none},
                                                                     {"flip", Inject::flip},
                                                                     {"stale", Inject::stale},
                                                                     {"swap", Inject::swap},
                                                                     {"lost", Inject::lost},
                                                                     {"slow", Inject::slow},
                                                                     {"late", Inject::late},
                                                                     {"clock", Inject::clock},
                                                                     {"hang", Inject::hang}}};

}  // namespace

const char* name_of(Kernel kernel) {
  return std::find_if(kKernels.begin(), kKernels.end(), [&](const auto& one) { return one.second == kernel; })->first;
}

bool is_ring(Kernel kernel) { return kernel == Kernel::natural_ring || kernel == Kernel::random_ring; }

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "Messages of many MPI ranks at once: pairs by where their ends are, and rings in order and shuffled.\n"
            "Start it with the mpirun of the MPI it was built with, on 2 or more ranks; each pins itself to a CPU.");
  Options options;
  for (const auto& word : args.words("kernels", "latency,bandwidth,bidirectional,natural_ring,random_ring",
                                     "what to measure, between commas")) {
    options.kernels.push_back(named(word, "kernel", kKernels));
  }
  for (const auto& word : args.words("placements", "halves",
                                     "what the ends of a pair have in common: halves (of k pairs rank i sends to "
                                     "rank i + k), cache, socket, host, hosts (not even the host)")) {
    options.placements.push_back(named(word, "placement", kPlacements));
  }
  for (const auto count : args.integers("pairs", "1,0", 0, "so many pairs at once; 0: as many as there are")) {
    options.pairs.push_back(static_cast<int>(std::min<std::int64_t>(count, kMostInt)));
  }
  for (const auto size :
       args.integers("sizes", "1,8,64,512,4096,32768,262144,1048576", 0, "message sizes in bytes, between commas")) {
    if (size > kMostInt) {
      throw usage("--sizes: " + std::to_string(size) + " bytes are more than one MPI message takes (2^31 - 1)",
                  "at most 2147483647");
    }
    options.sizes.push_back(static_cast<std::size_t>(size));
  }
  options.window = static_cast<int>(
      args.integer("window", 64, 1, "messages under way at once in the bandwidth kernels, at most 65536", 65536));
  options.orders = static_cast<int>(
      args.integer("orders", 30, 1, "so many orders of the random ring, in turn from sample to sample", 1'000'000));
  options.samples = args.integer("samples", 100, 1, "so many samples of each case");
  options.budget_s = args.real("budget-s", 0.5, 0,
                               "a case that has 10 samples ends after so many seconds, even with fewer than asked");
  options.sample_s = 1e-6 * args.real("sample-us", 100, 1, "a sample is made at least so long, in us", 1e7);
  options.silent_s =
      args.real("silent-s", 60, 0, "a case without an answer for so many seconds ends the job; 0: never");
  options.rails = args.words("rails", "", "networks whose bytes are counted, such as eth0,eth1 or mlx5_0:1,mlx5_1:1");
  options.rail = args.words("rail", "", "those of them that the MPI is to use: others may carry a tenth at most");
  for (const auto& name : options.rail) {
    if (std::find(options.rails.begin(), options.rails.end(), name) == options.rails.end()) {
      throw usage("--rail " + name + " is not among --rails", "name it there, too");
    }
  }
  options.ranks = ranks_wanted(args, "multi_pair");
  options.verify = !args.flag("no-verify", "do not check what arrives");
  options.pages = parse_pages(args.text("pages", "huge", "pages of the buffers: huge, base or hugetlb"));
  options.inject = named(args.text("inject", "none",
                                   "for tests: flip, stale, swap or lost messages; slow: the last pair; late; clock: "
                                   "wrong clocks; hang"),
                         "damage", kDamages);
  args.finish();
  if (options.kernels.empty() || options.placements.empty() || options.pairs.empty() || options.sizes.empty()) {
    throw usage("there is nothing to measure", "see --help");
  }
  return options;
}

}  // namespace shakedown::multi_pair
