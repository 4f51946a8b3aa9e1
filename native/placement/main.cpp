// Watches the program of one rank from its place: see README.md.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "common/args.hpp"
#include "placement_rank.hpp"

namespace shakedown::placement {
namespace {

int run(int argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find_if(argv, end, [](const char* word) { return std::strcmp(word, "--") == 0; });
  Args args(static_cast<int>(dashes - argv), argv,
            "placement_rank: starts a rank's program behind --, watches where it runs, leaves a record");
  Options options;
  options.folder = args.text("to", ".", "folder of the record, which every host of the job sees");
  options.arrange =
      args.text("arrange", "", "compact, spread, one-node or unbound: the CPUs of the rank (empty: as launched)");
  options.threads = static_cast<int>(args.integer("threads", 1, 1, "busy threads of a rank, for --arrange", 1 << 16));
  options.period_s = 1e-3 * args.real("period-ms", 20, 1, "milliseconds between two looks, at least", 60'000);
  args.finish();
  if (dashes == end || dashes + 1 == end) {
    throw usage("no program to start", "mpirun -n 4 placement_rank --to FOLDER -- ./a.out ARGUMENTS");
  }
  options.argv.assign(dashes + 1, end);
  options.argv.push_back(nullptr);
  const LaunchedRank rank = launched_rank([](const char* name) { return std::getenv(name); });
  if (!options.arrange.empty() && rank.rank > 0 && rank.local_rank < 0) {
    throw cannot("the launcher does not say which rank of its host this is", "compare launches as they are");
  }
  const Ended ended = watch(options, rank);
  if (ended.signal == 0) return ended.code;
  const rlimit none{0, 0};  // the program has left its image, where one was wanted
  setrlimit(RLIMIT_CORE, &none);
  std::signal(ended.signal, SIG_DFL);
  raise(ended.signal);  // as the launcher would have seen it
  return 128 + ended.signal;
}

}  // namespace
}  // namespace shakedown::placement

int main(int argc, char** argv) { return shakedown::run_main("placement_rank", argc, argv, shakedown::placement::run); }
