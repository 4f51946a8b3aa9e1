// hpcg: conjugate gradients by HPCG's rules. The story: parse -> join -> measure (run.cpp) -> emit.
#include <memory>

#include "common/isa.hpp"
#include "common/ranks.hpp"
#include "run.hpp"

namespace shakedown::hpcg {
namespace {

Object start_facts(const Place& place) {
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Object facts;
  facts.add("isa", place.isa.name).add("isas_here", names).add("mpi", mpi_version());
  facts.add("ranks", place.size).add("threads", place.team.size()).add("places", team_places(place.all, place.team));
  facts.add("format", "chunks of 8 rows, values in 64 bits, columns in 32").add("rules", "HPCG 3.1");
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
  });
  const Place place{ranks, *team, *isa};
  Emitter emitter(ranks.rank == 0 ? stdout : nullptr);
  emitter.start("hpcg", argc, argv, start_facts(place));
  measure(place, options, emitter);
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::hpcg

int main(int argc, char** argv) {
  using namespace shakedown;
  using namespace shakedown::hpcg;
  Options options;
  return mpi_main(
      "hpcg", argc, argv, MPI_THREAD_FUNNELED,
      [&] {
        options = read_options(argc, argv);
        if (options.allow_oversubscribe) let_ranks_yield();
      },
      [&] { return run_all(argc, argv, options); });
}
