#include <algorithm>
#include <array>
#include <climits>
#include <span>

#include "common/args.hpp"
#include "content.hpp"
#include "storage.hpp"

namespace shakedown::storage {
namespace {

constexpr std::array kKernels = {"features", "write", "rewrite", "read", "metadata", "io500"};
constexpr std::array kSteps = {"create", "stat", "read", "rename", "unlink", "mkdir", "rmdir"};
constexpr std::array kCaches = {"auto", "direct", "dropped", "kept"};
constexpr std::array kInjects = {"none", "flip", "stale", "feature"};
constexpr std::array kShares = {"own", "shared"};
constexpr std::array kOrders = {"sequential", "strided", "random"};
constexpr std::array kSyncs = {"end", "each", "none"};
constexpr std::array kApis = {"posix", "mpi-io", "mpi-io-collective"};
constexpr std::array kEngines = {"auto", "calls", "io_uring", "aio"};
constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::int64_t kMostDepth = 4096;

/// Which of the known words it is.
template <class Enum>
Enum one_of(const std::string& what, const std::string& word, std::span<const char* const> known) {
  std::string all;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (word == known[i]) return static_cast<Enum>(i);
    all += (all.empty() ? "" : ", ") + std::string(known[i]);
  }
  throw usage("unknown " + what + " '" + word + "'", "known: " + all);
}

bool is_mpi(const Options& options) {
  return options.engine == Engine::mpi || options.engine == Engine::mpi_collective;
}

void check_blocks(const Options& options) {
  for (const auto block : options.blocks) {
    const auto bytes = static_cast<std::uint64_t>(block);
    if (options.cache == Cache::direct && bytes % kPageBytes != 0) {
      throw usage("--blocks: " + std::to_string(block) + " is not a multiple of 4096, as --cache direct needs it",
                  "such as 4096,65536,1048576; or --cache dropped");
    }
    if (options.size % bytes != 0) {
      throw usage("--size " + std::to_string(options.size) + " is not a multiple of the block " + std::to_string(block),
                  "sizes and blocks that are powers of two fit");
    }
    const auto segments = static_cast<std::uint64_t>(std::max<std::int64_t>(options.segments, 1));
    if (options.size / bytes % segments != 0) {
      throw usage("--segments " + std::to_string(segments) + " does not divide the " +
                      std::to_string(options.size / bytes) + " blocks of each thread",
                  "0 chooses a number that fits");
    }
    if (bytes > std::uint64_t{INT_MAX}) {
      throw usage("--blocks: " + std::to_string(block) + " bytes are more than one call takes", "at most 2147479552");
    }
  }
}

void check_together(const Options& options) {
  const bool several = *std::max_element(options.threads.begin(), options.threads.end()) > 1;
  if (is_mpi(options) && (several || options.depth > 1 || options.cache == Cache::direct)) {
    throw usage("MPI-IO is measured with one thread and one transfer at a time in each rank, and without O_DIRECT",
                "more ranks in place of --threads and --depth; --cache dropped");
  }
  if (options.engine == Engine::mpi_collective && options.stonewall_s > 0) {
    throw usage("collective calls cannot stop at a time: ranks would wait for one another", "leave out --stonewall");
  }
  if (is_mpi(options) && options.share == Files::shared && !options.more_directories.empty()) {
    throw usage("one file for all ranks of MPI-IO lies in one directory", "leave out --more-directories");
  }
  const bool phases = std::find(options.kernels.begin(), options.kernels.end(), Kernel::io500) != options.kernels.end();
  if (phases && !options.more_directories.empty()) {
    throw usage("the phases of io500 work in one directory", "leave out --more-directories, or io500 of --kernels");
  }
  if (options.sync == Sync::each && options.depth > 1) {
    throw usage("--sync each waits for every transfer: there is nothing in flight", "--depth 1");
  }
}

/// How files are written and read.
void read_access(Args& args, Options& options) {
  options.share =
      one_of<Files>("kind of file", args.text("file", "own", "own: one of each thread; shared: one for all"), kShares);
  options.order = one_of<Order>(
      "pattern", args.text("pattern", "sequential", "order of a thread's blocks: sequential, strided, random"),
      kOrders);
  options.segments = args.integer("segments", 0, 0,
                                  "segments of a thread's part: of a shared file they are dealt to the threads in "
                                  "turn; 0: every block where it is strided, else 1");
  options.depth = args.integer("depth", 1, 1, "blocks in flight of each thread", kMostDepth);
  options.engine = one_of<Engine>(
      "engine", args.text("engine", "auto", "of blocks in flight: io_uring, aio (with O_DIRECT); calls: one at a time"),
      kEngines);
  const auto api = one_of<std::size_t>("api", args.text("api", "posix", "posix, mpi-io, mpi-io-collective"), kApis);
  if (api > 0) options.engine = api == 1 ? Engine::mpi : Engine::mpi_collective;
  options.sync = one_of<Sync>(
      "sync", args.text("sync", "end", "fsync within the time: at the end, after each block, or none"), kSyncs);
  options.stonewall_s = args.real("stonewall", 0, 0,
                                  "write for so many seconds, then until all threads have as much as the fastest; "
                                  "0: write all of --size");
}

/// What is done with small files.
void read_small(Args& args, Options& options) {
  for (const auto& word : args.words("steps", "create,stat,unlink",
                                     "of small files: create, stat, read, rename, unlink; tree: folders in a tree")) {
    if (word == "tree") {
      options.steps.insert(options.steps.end(), {Step::mkdir, Step::rmdir});
    } else {
      options.steps.push_back(one_of<Step>("step", word, std::span(kSteps).first(5)));
    }
  }
  for (const auto& word : args.words("folders", "own", "of small files: own: one of each thread; shared: one for all"))
    options.folders.push_back(one_of<Files>("kind of folder", word, kShares));
  options.small_bytes = args.integer("small-bytes", 0, 0, "bytes of each small file", 1 << 20);
  std::sort(options.steps.begin(), options.steps.end());
  options.steps.erase(std::unique(options.steps.begin(), options.steps.end()), options.steps.end());
  const auto has = [&](Step step) { return std::binary_search(options.steps.begin(), options.steps.end(), step); };
  const bool files = has(Step::stat) || has(Step::read) || has(Step::rename) || has(Step::create) || has(Step::unlink);
  if (options.steps.empty() || options.folders.empty() || (files && !(has(Step::create) && has(Step::unlink)))) {
    throw usage("--steps: what is made must be removed, and what is looked at, made", "such as create,stat,unlink");
  }
}

}  // namespace

const char* name_of(Step step) { return kSteps[static_cast<std::size_t>(step)]; }
const char* name_of(Kernel kernel) { return kKernels[static_cast<std::size_t>(kernel)]; }
const char* name_of(Files files) { return kShares[static_cast<std::size_t>(files)]; }
const char* name_of(Order order) { return kOrders[static_cast<std::size_t>(order)]; }
const char* name_of(Sync sync) { return kSyncs[static_cast<std::size_t>(sync)]; }

std::vector<std::string> directories(const Options& options) {
  std::vector<std::string> all = {options.directory};
  all.insert(all.end(), options.more_directories.begin(), options.more_directories.end());
  return all;
}

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "Does a file system do what programs need of it, and how fast: features, bandwidth, small files.\n"
            "One process, or with --ranks N as many as a launcher started: then also what hosts see of one another.");
  Options options;
  options.directory = args.text("directory", ".", "a folder on the file system to be measured");
  options.more_directories =
      args.words("more-directories", "", "folders on other mounts or servers: threads are dealt to all in turn");
  for (const auto& word : args.words("kernels", "features,write,rewrite,read,metadata", "what to do, between commas")) {
    options.kernels.push_back(one_of<Kernel>("kernel", word, kKernels));
  }
  options.features = args.words("features", "all", "features to try: all, or names between commas");
  options.require =
      args.words("require", "posix", "features that must hold: none, posix, all, or names between commas");
  options.blocks = args.integers("blocks", "1048576", 1, "block sizes in bytes, between commas");
  options.threads = args.integers("threads", "1", 1, "numbers of threads, between commas");
  options.size = static_cast<std::uint64_t>(args.integer("size", 256 * kMiB, 1, "bytes that each thread writes"));
  read_access(args, options);
  options.files = args.integer("files", 5000, 1, "small files of each thread", 10'000'000);
  read_small(args, options);
  options.samples = args.integer("samples", 3, 1, "so many samples of each case", 10'000);
  options.seconds = args.real("seconds", 0, 0, "each case lasts at least so many seconds");
  options.cache = one_of<Cache>("cache",
                                args.text("cache", "auto",
                                          "direct: O_DIRECT; dropped: written through and dropped before reading; "
                                          "kept; auto: direct where it works, else dropped"),
                                kCaches);
  options.verify = !args.flag("no-verify", "do not compare what is in the files afterwards");
  options.ranks = static_cast<int>(args.integer("ranks", 1, 1, "processes that the launcher starts", 100'000));
  options.rendezvous =
      args.text("rendezvous", "rendezvous", "a file that all processes see, by which they find rank 0");
  options.wait_s = args.real("wait", 60, 1, "seconds that all processes have to come");
  options.inject = one_of<Inject>(
      "damage", args.text("inject", "none", "damage for tests: flip a byte, stale block, a feature that fails"),
      kInjects);
  args.finish();
  if (options.kernels.empty()) throw usage("there is nothing to do", "see --help");
  check_blocks(options);
  check_together(options);
  check_names(options.require, {"none", "posix", "all"}, "--require");
  check_names(options.features, {"all"}, "--features");
  return options;
}

}  // namespace shakedown::storage
