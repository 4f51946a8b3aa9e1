#include <algorithm>

#include "gpu_collectives.hpp"

namespace shakedown::gpu_collectives {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

std::vector<Operation> operations_of(const std::vector<std::string>& words) {
  std::vector<Operation> found;
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    const bool all = words.size() == 1 && words.front() == "all";
    if (all || std::find(words.begin(), words.end(), kOperations[i]) != words.end())
      found.push_back(static_cast<Operation>(i));
  }
  std::string shown = "all";
  for (const char* one : kOperations) shown.append(", ").append(one);
  for (const auto& word : words) {
    if (word != "all" && std::find(kOperations.begin(), kOperations.end(), word) == kOperations.end())
      throw usage("--operations: '" + word + "' is not an operation", shown);
  }
  if (found.empty()) throw usage("--operations names nothing", shown);
  return found;
}

std::vector<bool> places_of(const std::string& word) {
  if (word == "out") return {false};
  if (word == "in") return {true};
  if (word == "both") return {false, true};
  throw usage("--place '" + word + "'", "out, in, both");
}

void require(const std::string& name, const std::string& word, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return;
  std::string shown;
  for (const auto& one : known) shown.append(shown.empty() ? "" : ", ").append(one);
  throw usage("--" + name + " '" + word + "'", shown);
}

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "gpu_collectives: collective operations of this node's GPUs by NCCL or RCCL, every element checked");
  Options o;
  o.choice = gpu::read_choice(args);
  o.nccl = args.text("nccl", "auto", "the path of libnccl.so.2 or librccl.so.1; auto: as the loader finds it");
  o.operations = operations_of(args.words("operations", "all", "which operations, or all"));
  const auto sizes =
      args.integers("sizes", "8,4096,65536,1048576,16777216,268435456,1073741824,8589934592", 1,
                    "bytes, as nccl-tests counts them: of the vector, or of the blocks of all ranks together");
  for (const auto size : sizes) {
    if (size > kMostBytes) throw usage("--sizes: " + std::to_string(size) + " bytes", "at most 2^50");
    o.sizes.push_back(static_cast<std::size_t>(size));
  }
  for (const auto group : args.integers("groups", "0", 0, "so many of the GPUs take part, such as 2,4,8; 0: all"))
    o.groups.push_back(static_cast<int>(std::min<std::int64_t>(group, kMostRanks)));
  o.rounds = args.text("rounds", "",
                       "a file of rounds, one a line, of groups that measure at the same time, one a word: 0,1 2,3, by "
                       "the numbers of the GPUs; in place of --groups");
  o.places = places_of(args.text("place", "both", "out of place, in place, or both"));
  const std::string type = args.text("type", "float", "float or uint64");
  require("type", type, {"float", "uint64"});
  o.type = type == "float" ? kFloat : kUint64;
  o.links = args.text("links", "unknown", "what joins the GPUs: switch (that can reduce), nvlink, pcie, unknown");
  require("links", o.links, {"switch", "nvlink", "pcie", "unknown"});
  o.log = args.text("nccl-log", "", "a file for the library's log; empty: it is read and dropped");
  o.samples = args.integer("samples", 20, 1, "at least so many samples of each case");
  o.warm_ups = args.integer("warm-ups", 5, 1, "calls before the samples, besides one that is checked", 200);
  o.seconds = args.real("seconds", 0, 0, "each case lasts at least so many seconds");
  o.sample_s = 1e-3 * args.real("sample-ms", 2, 0, "a sample is one call, or as many as last so many ms");
  o.silent_s = args.real("silent-s", 5, 0.1, "no answer for so many seconds is a hang");
  o.try_s = args.real("try-s", 2, 0.1, "after a hang, so many seconds for a small operation of a GPU alone, or a pair");
  o.join_s = args.real("join-s", 60, 0.1, "the ranks' communicators take at most so many seconds");
  o.says_algorithm = !args.flag("no-algorithm", "do not let the library say the algorithm, a line of log a call");
  o.spoil = args.flag("spoil", "damage a bit of what the last rank has before each check, to see it fail");
  o.verify = !args.flag("no-verify", "leave the checks out");
  args.finish();
  return o;
}

}  // namespace shakedown::gpu_collectives
