// hydro: a gas by Godunov's method. The story: parse -> join -> for each size: measure one grid (run.cpp) -> emit.
#include <algorithm>
#include <memory>

#include "common/isa.hpp"
#include "cost.hpp"
#include "run.hpp"

namespace shakedown::hydro {
namespace {

Object start_facts(const Options& options, const Place& place) {
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Object facts;
  facts.add("isa", place.isa.name).add("isas_here", names).add("mpi", mpi_version());
  facts.add("ranks", place.size).add("threads", place.team.size()).add("places", team_places(place.all, place.team));
  facts.add("problem", word(options.problem)).add("gamma", kGamma).add("courant", kCourant);
  return facts;
}

int run_all(int argc, char** argv, const Options& options) {
  const HostRanks ranks = join_hosts();
  const auto cpus =
      dealt_cpus(ranks.all, ranks.host, options.cpus, options.threads, false, options.allow_oversubscribe);
  const Isa* isa = nullptr;
  std::unique_ptr<Team> team;
  together(ranks.all, [&] {
    isa = &isa_of(choose_isa(options.isa, isas_built()));
    team = std::make_unique<Team>(cpus);
    for (const auto n : options.n) divide(ranks.all, n, n, options.rank_columns);
  });
  const Place place{ranks, *team, *isa};
  Emitter emitter(ranks.rank == 0 ? stdout : nullptr);
  emitter.start("hydro", argc, argv, start_facts(options, place));
  const double share = 1.0 / static_cast<double>(options.n.size());
  double done = 0;
  for (const auto n : options.n) {
    (options.cost.asked() ? measure_costs : measure)(place, options, emitter, n, done, share);
    done += share;
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::hydro

int main(int argc, char** argv) {
  using namespace shakedown;
  using namespace shakedown::hydro;
  Options options;
  return mpi_main(
      "hydro", argc, argv, MPI_THREAD_FUNNELED, [&] { options = read_options(argc, argv); },
      [&] { return run_all(argc, argv, options); });
}
