#include <algorithm>

#include "common/args.hpp"
#include "filesystem.hpp"
#include "pages.hpp"

namespace shakedown::filesystem {
namespace {

constexpr const char* kKernels[] = {"features", "write", "rewrite", "read", "metadata"};
constexpr std::uint64_t kMiB = 1U << 20U;

Kernel parse_kernel(const std::string& word) {
  std::string all;
  for (std::size_t i = 0; i < std::size(kKernels); ++i) {
    if (word == kKernels[i]) return static_cast<Kernel>(i);
    all += (all.empty() ? "" : ", ") + std::string(kKernels[i]);
  }
  throw usage("unknown kernel '" + word + "'", "known: " + all);
}

Cache parse_cache(const std::string& word) {
  if (word == "auto") return Cache::automatic;
  if (word == "direct") return Cache::direct;
  if (word == "dropped") return Cache::dropped;
  if (word == "kept") return Cache::kept;
  throw usage("unknown cache '" + word + "'", "known: auto, direct, dropped, kept");
}

Inject parse_inject(const std::string& word) {
  if (word == "none") return Inject::none;
  if (word == "flip") return Inject::flip;
  if (word == "stale") return Inject::stale;
  if (word == "feature") return Inject::feature;
  throw usage("unknown damage '" + word + "'", "known: none, flip, stale, feature");
}

void check(const Options& options) {
  for (const auto block : options.blocks) {
    if (block % static_cast<std::int64_t>(kPageBytes) != 0) {
      throw usage("--blocks: " + std::to_string(block) + " is not a multiple of 4096", "such as 4096,65536,1048576");
    }
    if (options.size % static_cast<std::uint64_t>(block) != 0) {
      throw usage("--size " + std::to_string(options.size) + " is not a multiple of the block " + std::to_string(block),
                  "sizes and blocks that are powers of two fit");
    }
  }
  check_names(options.require, {"none", "posix", "all"}, "--require");
  check_names(options.features, {"all"}, "--features");
}

}  // namespace

const char* name_of(Kernel kernel) { return kKernels[static_cast<std::size_t>(kernel)]; }

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "Does a file system do what programs need of it, and how fast: features, bandwidth, small files.\n"
            "One process, or with --ranks N as many as a launcher started: then also what hosts see of one another.");
  Options options;
  options.directory = args.text("directory", ".", "a folder on the file system to be measured");
  for (const auto& word : args.words("kernels", "features,write,rewrite,read,metadata", "what to do, between commas")) {
    options.kernels.push_back(parse_kernel(word));
  }
  options.features = args.words("features", "all", "features to try: all, or names between commas");
  options.require =
      args.words("require", "posix", "features that must hold: none, posix, all, or names between commas");
  options.blocks = args.integers("blocks", "1048576", 1, "block sizes in bytes, between commas");
  options.threads = args.integers("threads", "1", 1, "numbers of threads, between commas");
  options.size = static_cast<std::uint64_t>(args.integer("size", 256 * kMiB, 4096, "bytes of each thread's file"));
  options.files = args.integer("files", 5000, 1, "small files of each thread", 10'000'000);
  options.samples = args.integer("samples", 3, 1, "so many samples of each case", 10'000);
  options.seconds = args.real("seconds", 0, 0, "each case lasts at least so many seconds");
  options.cache = parse_cache(args.text("cache", "auto",
                                        "direct: O_DIRECT; dropped: written through and dropped before reading; kept; "
                                        "auto: direct where it works, else dropped"));
  options.verify = !args.flag("no-verify", "do not compare what is in the files afterwards");
  options.ranks = static_cast<int>(args.integer("ranks", 1, 1, "processes that the launcher starts", 100'000));
  options.rendezvous =
      args.text("rendezvous", "rendezvous", "a file that all processes see, by which they find rank 0");
  options.wait_s = args.real("wait", 60, 1, "seconds that all processes have to come");
  options.inject =
      parse_inject(args.text("inject", "none", "damage for tests: flip a byte, stale block, a feature that fails"));
  args.finish();
  if (options.kernels.empty()) throw usage("there is nothing to do", "see --help");
  check(options);
  return options;
}

}  // namespace shakedown::filesystem
