// hpcg: conjugate gradients by HPCG's rules. The story: parse -> join -> measure (run.cpp) -> emit.
#include <memory>

#include "common/isa.hpp"
#include "common/job.hpp"
#include "common/ranks.hpp"
#include "run.hpp"

namespace shakedown::hpcg {
namespace {

/// Each rank's host and the CPUs that its threads are bound to; every rank calls it.
std::vector<Object> places(const Place& place) {
  const auto hosts = gather_words(place.all, host_name());
  std::string mine;
  for (const auto& cpus : place.team.binding_words()) mine += (mine.empty() ? "" : " ") + cpus;
  const auto bound = gather_words(place.all, mine);
  std::vector<Object> out;
  for (std::size_t k = 0; k < hosts.size(); ++k) {
    out.push_back(Object().add("rank", k).add("host", hosts[k]).add("threads", bound[k]));
  }
  return out;
}

Object start_facts(const Place& place) {
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Object facts;
  facts.add("isa", place.isa.name).add("isas_here", names).add("mpi", mpi_version());
  facts.add("ranks", place.size).add("threads", place.team.size()).add("places", places(place));
  facts.add("format", "chunks of 8 rows, values in 64 bits, columns in 32").add("rules", "HPCG 3.1");
  return facts;
}

int run_all(int argc, char** argv, const Options& options) {
  MPI_Comm all = MPI_COMM_NULL, host = MPI_COMM_NULL;
  int rank = 0, size = 1, host_size = 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &host_size);
  const auto cpus = dealt_cpus(all, host, options.cpus, options.threads, false, options.allow_oversubscribe);
  const Isa* isa = nullptr;
  std::unique_ptr<Team> team;
  together(all, [&] {
    isa = &isa_of(choose_isa(options.isa, isas_built()));
    team = std::make_unique<Team>(cpus);
  });
  const Place place{all, rank, size, host_size, *team, *isa};
  Emitter emitter(rank == 0 ? stdout : nullptr);
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
