#include "options.hpp"

#include "common/args.hpp"

namespace shakedown::hydro {
namespace {

struct Named {
  const char* word;
  Inject inject;
};
constexpr Named kInjections[] = {{"", Inject::nothing},
                                 {"mass", Inject::mass},
                                 {"momentum", Inject::momentum},
                                 {"energy", Inject::energy},
                                 {"nan", Inject::nan}};

Inject parse_inject(const std::string& word) {
  for (const auto& one : kInjections) {
    if (word == one.word) return one.inject;
  }
  throw usage("--inject: unknown fault '" + word + "'", "known: mass, momentum, energy, nan");
}

CheckpointOptions read_checkpoint(Args& args) {
  CheckpointOptions o;
  o.local =
      args.text("checkpoint-local", "", "folder on each node for checkpoints of this gas; it goes on from the newest");
  o.global = args.text("checkpoint-global", "", "folder that all nodes share, likewise");
  o.level = static_cast<int>(args.integer(
      "checkpoint-level", 0, 0, "1 local, 2 partner, 3 group, 4 global; 0: 4 with a global folder, else 1", 4));
  o.every = args.integer("checkpoint-every", 1, 0, "a checkpoint after so many samples; 0: when one is due", 1'000'000);
  if (o.level == 0) o.level = o.global.empty() ? 1 : 4;
  if (o.asked() && (o.level == 4 ? o.global : o.local).empty()) {
    throw usage("--checkpoint-level " + std::to_string(o.level) + " has no folder",
                o.level == 4 ? "give --checkpoint-global" : "give --checkpoint-local");
  }
  return o;
}

CostOptions read_cost(Args& args) {
  CostOptions o;
  o.levels = args.integers("levels", "", 1, "measure what checkpoints of these levels cost: 1,2,3,4");
  o.directory = args.text("directory", ".", "with --levels: folder that all nodes share, for those of level 4");
  o.local_directory = args.text("local-directory", "", "folder of each node, for the others; default: --directory");
  o.pairs = args.integer("pairs", 5, 1, "segments with a checkpoint and without, of each level", 1000);
  o.restarts = args.integer("restarts", 3, 1, "restarts from each level", 1000);
  o.interval_s = args.real("interval", 0, 0, "seconds of a segment; 0: three times those of a checkpoint, at least 2");
  if (o.local_directory.empty()) o.local_directory = o.directory;
  for (const auto level : o.levels) {
    if (level > 4) throw usage("--levels: there is no level " + std::to_string(level), "1 to 4");
  }
  return o;
}

/// A gas that ends at a step has samples of equal steps from its start, and is one.
void check_until(const Options& o) {
  if (o.cost.asked() && (o.until != 0 || o.checkpoint.asked())) {
    throw usage("--levels makes checkpoints of its own", "leave out --until and --checkpoint-...");
  }
  if (o.checkpoint.asked() && o.until == 0) {
    throw usage("checkpoints need the step at which the gas ends", "give --until, and --steps for those of a sample");
  }
  if (o.until == 0) return;
  if (o.n.size() != 1) throw usage("--until is for one gas", "give one number for --n");
  if (o.steps == 0 || o.until % o.steps != 0) {
    throw usage("--until " + std::to_string(o.until) + " is not a multiple of --steps " + std::to_string(o.steps),
                "a sample has so many steps, and the last ends with the gas");
  }
}

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "hydro: the Euler equations of a gas in a square box of n x n cells, by Godunov's method of second order in "
      "double precision. Runs alone or as MPI ranks.");
  Options o;
  o.n = args.integers("n", "2000", 4, "numbers of cells along an edge, in turn");
  o.problem =
      parse_problem(args.text("problem", "blast",
                              "blast: a point explosion in a corner; sod_x, sod_y: Sod's tube along a dimension; "
                              "checkers: squares of Sod's two states, every cell at work"));
  o.samples = args.integer("samples", 10, 1, "samples at least", 1'000'000);
  o.steps = args.integer("steps", 0, 0, "steps of a sample; 0: as many as last 100 ms", 100'000'000);
  o.seconds = args.real("seconds", 0, 0, "measure for at least so many seconds");
  o.threads = static_cast<int>(args.integer("threads", 0, 0, "threads of each rank; 0: its share of the cores", 65536));
  o.rank_columns = static_cast<int>(
      args.integer("rank-columns", 0, 0, "ranks side by side along x; 0: so that edges are shortest", 1 << 24));
  o.isa = args.text("isa", "auto", "avx512, avx2 or plain; auto: the widest that runs here");
  o.cpus = args.text("cpus", "", "CPUs of a host, dealt to its ranks in order (0-3,8); default: by binding");
  o.allow_oversubscribe = args.flag("allow-oversubscribe", "let threads share CPUs");
  o.verify = !args.flag("no-verify", "leave the checks out");
  o.inject = parse_inject(args.text("inject", "", "spoil a cell: mass, momentum, energy or nan; the check must fail"));
  o.until =
      args.integer("until", 0, 0, "end at this step of the gas, whatever --samples and --seconds say", 1'000'000'000);
  o.checkpoint = read_checkpoint(args);
  o.cost = read_cost(args);
  args.finish();
  if (o.n.empty()) throw usage("nothing to measure: --n needs a value", "see --help");
  check_until(o);
  for (const auto n : o.n) {
    if (n > 1'000'000) throw usage("--n " + std::to_string(n) + " is above 1000000", "ask for fewer cells");
  }
  return o;
}

}  // namespace shakedown::hydro
