#include "options.hpp"

#include "common/args.hpp"

namespace shakedown::hpcg {
namespace {

struct Named {
  const char* word;
  Inject inject;
};
constexpr Named kInjections[] = {{"", Inject::nothing},
                                 {"value", Inject::value},
                                 {"column", Inject::column},
                                 {"nan", Inject::nan},
                                 {"solution", Inject::solution}};

Inject parse_inject(const std::string& word) {
  for (const auto& one : kInjections) {
    if (word == one.word) return one.inject;
  }
  throw usage("--inject: unknown fault '" + word + "'", "known: value, column, nan, solution");
}

constexpr std::int64_t kMostPoints = 1024;  // along an edge: a row's number in 32 bits

std::int64_t edge(Args& args, const std::string& name, std::int64_t otherwise, const std::string& help) {
  const std::int64_t n = args.integer(name, otherwise, 0, help, kMostPoints);
  if (n % 8 == 0 && (n >= 16 || (n == 0 && otherwise == 0))) return n;
  throw usage("--" + name + " " + std::to_string(n) + " is not a multiple of 8 from 16 on",
              "the multigrid halves each edge three times");
}

}  // namespace

Options read_options(int argc, char** argv) {
  Args args(argc, argv,
            "hpcg: conjugate gradients with a multigrid of four levels, by the rules of HPCG. Runs alone or as MPI "
            "ranks.");
  Options o;
  o.n.x = edge(args, "nx", 104, "points of each rank along x, a multiple of 8 from 16 on");
  o.n.y = edge(args, "ny", 0, "along y; 0: as along x");
  o.n.z = edge(args, "nz", 0, "along z; 0: as along x");
  if (o.n.y == 0) o.n.y = o.n.x;
  if (o.n.z == 0) o.n.z = o.n.x;
  o.samples = args.integer("samples", 3, 1, "sets of iterations at least", 100'000);
  o.seconds = args.real("seconds", 0, 0, "measure sets for at least so many seconds; an official run: 1800");
  o.threads = static_cast<int>(args.integer("threads", 0, 0, "threads of each rank; 0: its share of the cores", 65536));
  o.isa = args.text("isa", "auto", "avx512, avx2 or plain; auto: the widest that runs here");
  o.cpus = args.text("cpus", "", "CPUs of a host, dealt to its ranks in order (0-3,8); default: by binding");
  o.triad_bytes = args.integer("triad-bytes", 0, 0,
                               "of each array of a rank's triad; 0: four times the last-level caches of its CPUs, from "
                               "64 MiB to 1 GiB",
                               std::int64_t{1} << 40);
  o.allow_oversubscribe = args.flag("allow-oversubscribe", "let threads share CPUs");
  o.verify = !args.flag("no-verify", "leave the checks out");
  o.inject = parse_inject(args.text(
      "inject", "", "spoil a value or a column of the matrix, or the solution (nan, solution); a check must fail"));
  args.finish();
  return o;
}

}  // namespace shakedown::hpcg
