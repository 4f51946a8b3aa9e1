#include <array>
#include <limits>
#include <utility>

#include "common/args.hpp"
#include "onesided.hpp"

namespace shakedown::onesided {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

/// The kinds that a list of words names, of those of an enumeration of `count`.
template <class Kind>
std::vector<Kind> parse_kinds(const std::vector<std::string>& words, int count, const char* what) {
  std::vector<Kind> found;
  for (const auto& word : words) {
    std::string known;
    int at = 0;
    for (; at < count && word != name_of(static_cast<Kind>(at)); ++at) {
      known += std::string(at > 0 ? ", " : "") + name_of(static_cast<Kind>(at));
    }
    if (at == count) throw usage(std::string("unknown ") + what + " '" + word + "'", "known: " + known);
    found.push_back(static_cast<Kind>(at));
  }
  return found;
}

template <class Kind>
std::string all_of(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::string(i > 0 ? "," : "") + name_of(static_cast<Kind>(i));
  return text;
}

constexpr std::array<std::pair<const char*, Inject>, 5> kDamages = {{{"none", Inject::none},
                                                                     {"flip", Inject::flip},
                                                                     {"lost", Inject::lost},
                                                                     {"twice", Inject::twice},
                                                                     {"hang", Inject::hang}}};

std::vector<std::size_t> parse_sizes(const std::vector<std::int64_t>& given) {
  std::vector<std::size_t> sizes;
  for (const auto bytes : given) {
    if (bytes > kMostInt) {
      throw usage("--sizes: " + std::to_string(bytes) + " bytes are more than an MPI call counts (2^31 - 1)",
                  "at most 2147483647");
    }
    sizes.push_back(static_cast<std::size_t>(bytes));
  }
  return sizes;
}

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "One-sided operations of MPI (RMA): rank 0 puts, gets, adds and swaps in the memory of rank 1.\n"
            "Start it with the mpirun of the MPI it was built with, on 2 ranks; each pins itself to a CPU.");
  Options options;
  options.operations = parse_kinds<Operation>(
      args.words("operations", all_of<Operation>(kOperations), "what to measure, between commas"), kOperations,
      "operation");
  options.windows = parse_kinds<WindowKind>(
      args.words("windows", all_of<WindowKind>(kWindowKinds), "kinds of windows, between commas"), kWindowKinds,
      "kind of window");
  options.sizes = parse_sizes(
      args.integers("sizes", "8,64,512,4096,32768,262144,1048576", 1, "bytes of an operation that is not atomic"));
  for (const auto bytes : args.integers("atomic-bytes", "8,4", 4, "bytes of the word of an atomic operation: 8, 4")) {
    if (bytes != 4 && bytes != 8) throw usage("--atomic-bytes: a word is of 4 or 8 bytes");
    options.atomic_bytes.push_back(static_cast<std::size_t>(bytes));
  }
  options.in_flight = static_cast<int>(
      args.integer("in-flight", 64, 1, "operations under way at once where the rate is measured", 65536));
  options.computing = !args.flag("no-computing", "not also while the target computes and calls no MPI");
  options.samples = args.integer("samples", 100, 1, "so many samples of each case");
  options.budget_s = args.real("budget-s", 0.5, 0,
                               "a case that has 10 samples ends after so many seconds, even with fewer than asked");
  options.sample_s = 1e-6 * args.real("sample-us", 100, 0, "a sample is made at least so long, in us", 1e7);
  options.silent_s =
      args.real("silent-s", 60, 0, "a case without an answer for so many seconds ends the job; 0: never");
  options.contended = args.integer("contended", 500, 2, "operations of each rank in the check of both at once");
  options.ranks = ranks_wanted(args, "onesided");
  options.verify = !args.flag("no-verify", "do not check what arrives");
  options.pages = parse_pages(args.text("pages", "huge", "pages of the buffers: huge, base or hugetlb"));
  options.inject =
      named(args.text("inject", "none", "for tests: flip, lost, twice: wrong values; hang: a silent target"), "damage",
            kDamages);
  args.finish();
  if (options.operations.empty() || options.windows.empty() || options.sizes.empty() || options.atomic_bytes.empty()) {
    throw usage("there is nothing to measure", "see --help");
  }
  return options;
}

}  // namespace shakedown::onesided
