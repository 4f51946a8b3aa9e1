// Our iterations beside those of the plain reference loops, and beside the triad, in turn: the same system, one
// process; one JSON object of seconds, and how far apart both residuals end.
#include <cmath>
#include <cstdio>
#include <memory>

#include "cg.hpp"
#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/isa.hpp"
#include "counts.hpp"
#include "solver.hpp"
#include "triad.hpp"

namespace shakedown::hpcg {
namespace {

int run(int argc, char** argv) {
  Args args(argc, argv, "hpcg_peers: our iterations beside the plain loops and the triad, in turn.");
  const std::int64_t nx = args.integer("nx", 104, 16, "points along each edge, a multiple of 8", 512);
  const std::int64_t rounds = args.integer("rounds", 10, 1, "of each", 10'000);
  const auto iterations = static_cast<int>(args.integer("iterations", 4, 1, "of ours in a round", 50));
  const auto plain = static_cast<int>(args.integer("plain-iterations", 1, 0, "of the plain loops in a round", 50));
  const std::int64_t threads = args.integer("threads", 2, 1, "of ours and of the triad", 1024);
  const std::int64_t triad_bytes = args.integer("triad-bytes", 0, 0, "of each array; 0: as hpcg takes");
  const std::string isa = args.text("isa", "auto", "avx512, avx2 or plain");
  args.finish();
  if (nx % 8 != 0) throw usage("--nx " + std::to_string(nx) + " is not a multiple of 8");
  Team team(choose_cpus(static_cast<int>(threads), ""));
  const Isa& loops = isa_of(choose_isa(isa, isas_built()));
  const Problem problem = set_up(team, grid_of(MPI_COMM_WORLD, {nx, nx, nx}));
  Solver solver(team, loops, problem);
  Reference reference(problem);
  Options options;
  options.triad_bytes = triad_bytes;
  const Place place{{.all = MPI_COMM_WORLD}, team, loops};
  Bandwidth triad(place, options, stream::Kernel::triad), read(place, options, stream::Kernel::read);
  std::vector<double> triads, reads, ours, books;
  const auto per_iteration = [](auto& system, int count) {
    const double begin = now_s();
    const auto found = conjugate_gradients(system, {count, 0, true});
    return std::pair{(now_s() - begin) / count, found.reduction()};
  };
  const double apart = std::fabs(per_iteration(solver, 2).second / per_iteration(reference, 2).second - 1);
  for (std::int64_t k = 0; k < rounds; ++k) {
    triads.push_back(triad.sample());
    reads.push_back(read.sample());
    ours.push_back(per_iteration(solver, iterations).first);
    if (plain > 0) books.push_back(per_iteration(reference, plain).first);
  }
  const Object found = Object()
                           .add("isa", loops.name)
                           .add("triad_bytes", triad.bytes())
                           .add("iteration_bytes", solver.iteration_bytes())
                           .add("iteration_flops", set_flops(problem, 1).sum() - set_flops(problem, 0).sum())
                           .add("triad", triads)
                           .add("read_bytes", read.bytes())
                           .add("read", reads)
                           .add("ours", ours)
                           .add("plain", books)
                           .add("apart", apart);
  std::printf("%s\n", to_json(found).c_str());
  return kOk;
}

}  // namespace
}  // namespace shakedown::hpcg

int main(int argc, char** argv) { return shakedown::run_main("hpcg_peers", argc, argv, shakedown::hpcg::run); }
