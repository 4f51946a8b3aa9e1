// lj: a Lennard-Jones fluid at constant energy on the CPU. The story: parse -> for each number of threads, particles
// and each precision: measure one fluid (run.cpp) -> emit.

#include "common/isa.hpp"
#include "cpu.hpp"
#include "options.hpp"
#include "run.hpp"

namespace shakedown::lj {
namespace {

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Isa& isa = isa_of(choose_isa(options.isa, isas_built()));
  for (const auto threads : options.threads) choose_cpus(static_cast<int>(threads), options.cpus);
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Emitter emitter;
  Object facts;
  facts.add("isa", isa.name).add("isas_here", names).add("threads", options.threads);
  facts.add("dt", options.physics.dt).add("ensemble", "NVE").add("equilibrate", options.equilibrate);
  emitter.start("lj", argc, argv, facts);
  const double share =
      1.0 / static_cast<double>(options.threads.size() * options.particles.size() * options.precisions.size());
  double done = 0;
  State last;
  for (const auto threads : options.threads) {
    Team team(choose_cpus(static_cast<int>(threads), options.cpus));
    emitter.facts(Object().add("cpus of " + std::to_string(threads) + " threads", team.binding_words()));
    for (const auto n : options.particles) {
      for (const Precision precision : options.precisions) {
        const Subject subject{.particles = static_cast<std::size_t>(n),
                              .precision = precision,
                              .label = std::to_string(n) + " particles, " + word(precision) + ", " +
                                       std::to_string(team.size()) + " threads",
                              .done = done,
                              .share = share};
        const auto backend = make_cpu(team, isa, precision, options.physics, subject.particles);
        Outcome found = measure_fluid(*backend, options, emitter, subject);
        found.series.params.add("threads", team.size()).add("backend", "cpu").add("isa", isa.name);
        emitter.series(found.series, found.checked ? &*found.checked : nullptr);
        last = std::move(found.last);
        done += share;
      }
    }
  }
  emitter.end();
  if (!options.write.empty()) write_lammps(last, options.write);
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::lj

int main(int argc, char** argv) { return shakedown::run_main("lj", argc, argv, shakedown::lj::run); }
