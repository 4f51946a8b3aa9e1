// nbody: all pairs of bodies, softened gravity, leapfrog. The story: parse -> for each number of threads, bodies and
// each precision: make the bodies, load, find the field (warm-up), measure samples of steps, check forces, energy and
// momentum, emit.

#include "bodies.hpp"
#include "common/emit.hpp"
#include "common/isa.hpp"
#include "cpu.hpp"
#include "options.hpp"

namespace shakedown::nbody {
namespace {

struct Subject {
  std::size_t bodies;
  Precision precision;
  int threads;
  std::string label;  // for a person
};

/// One case: one number of bodies in one precision on one team.
void measure_case(Backend& backend, const Options& options, Emitter& emitter, const Isa& isa, const Subject& subject,
                  double done, double share) {
  Session session(backend, options.course, subject.precision);
  {
    const PhaseMark phase(emitter, "init", subject.label);
    session.load(plummer(subject.bodies, static_cast<std::uint64_t>(options.course.seed)));
  }
  {
    const PhaseMark phase(emitter, "warmup", subject.label);
    session.warm();
  }
  {
    const PhaseMark phase(emitter, "measure", subject.label);
    session.measure([&](double part) {
      if (part >= 1) return false;
      emitter.progress(done + share * part, subject.label);
      return true;
    });
  }
  if (options.course.verify) {
    const PhaseMark phase(emitter, "verify", subject.label);
    session.check();
  }
  Case result = session.result();
  result.params.add("n", subject.bodies).add("precision", word(subject.precision)).add("threads", subject.threads);
  result.params.add("backend", "cpu").add("isa", isa.name);
  const auto& residual = session.residual();
  emitter.series(result, residual ? &*residual : nullptr);
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Isa& isa = isa_of(choose_isa(options.isa, isas_built()));
  for (const auto threads : options.threads) choose_cpus(static_cast<int>(threads), options.cpus);
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Emitter emitter;
  Object facts;
  facts.add("isa", isa.name).add("isas_here", names).add("threads", options.threads);
  facts.add("softening", options.course.physics.softening)
      .add("dt", options.course.physics.dt)
      .add("flop_each", kFlopEach);
  emitter.start("nbody", argc, argv, facts);
  const double share = 1.0 / static_cast<double>(options.threads.size() * options.course.bodies.size() *
                                                 options.course.precisions.size());
  double done = 0;
  for (const auto threads : options.threads) {
    Team team(choose_cpus(static_cast<int>(threads), options.cpus));
    emitter.facts(Object().add("cpus of " + std::to_string(threads) + " threads", team.binding_words()));
    for (const auto n : options.course.bodies) {
      for (const Precision precision : options.course.precisions) {
        const Subject subject{
            static_cast<std::size_t>(n), precision, team.size(),
            std::to_string(n) + " bodies, " + word(precision) + ", " + std::to_string(team.size()) + " threads"};
        const auto backend = make_cpu(team, isa, precision, options.course.physics, subject.bodies);
        measure_case(*backend, options, emitter, isa, subject, done, share);
        done += share;
      }
    }
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::nbody

int main(int argc, char** argv) { return shakedown::run_main("nbody", argc, argv, shakedown::nbody::run); }
