// nbody: all pairs of bodies, softened gravity, leapfrog. The story: parse -> for each number of threads, bodies and
// each precision: make the bodies, load, find the field (warm-up), measure samples of steps, check forces, energy and
// momentum, emit.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>

#include "bodies.hpp"
#include "common/emit.hpp"
#include "common/isa.hpp"
#include "cpu.hpp"
#include "options.hpp"

namespace shakedown::nbody {
namespace {

constexpr double kSampleSeconds = 20e-3;
constexpr std::int64_t kFlopEach = 20;  // L. Nyland, M. Harris, J. Prins, GPU Gems 3, chapter 31

struct Subject {
  std::size_t bodies;
  Precision precision;
  int threads;
  std::string label;  // for a person
};

/// Samples of `steps` steps each.
struct Series {
  std::int64_t steps = 1;
  std::vector<double> seconds;
  std::int64_t begin_ns = 0, end_ns = 0;
};

Series measure(Backend& backend, const Options& options, Emitter& emitter, const Subject& subject, double done,
               double share, std::int64_t& taken) {
  Series series;
  {
    const PhaseMark phase(emitter, "warmup", subject.label);
    series.steps = std::max<std::int64_t>(options.steps, 1);
    double seconds = backend.advance(series.steps);
    taken += series.steps;
    while (options.steps == 0 && seconds < kSampleSeconds / 2) {
      series.steps = static_cast<std::int64_t>(
          std::ceil(static_cast<double>(series.steps) * std::min(kSampleSeconds / std::max(seconds, 1e-7), 16.0)));
      seconds = backend.advance(series.steps);
      taken += series.steps;
    }
  }
  const PhaseMark phase(emitter, "measure", subject.label);
  series.begin_ns = unix_ns();
  const double start = now_s();
  for (;;) {
    series.seconds.push_back(backend.advance(series.steps));
    taken += series.steps;
    const double by_count = static_cast<double>(series.seconds.size()) / static_cast<double>(options.samples);
    const double by_time = options.seconds > 0 ? (now_s() - start) / options.seconds : 1;
    if (by_count >= 1 && by_time >= 1) break;
    if (series.seconds.size() == 10'000) {  // hours of load stay a small file: join them two by two
      for (std::size_t i = 0; i < 5'000; ++i) series.seconds[i] = series.seconds[2 * i] + series.seconds[2 * i + 1];
      series.seconds.resize(5'000);
      series.steps *= 2;
    }
    emitter.progress(done + share * std::min({by_count, by_time, 1.0}), subject.label);
  }
  series.end_ns = unix_ns();
  return series;
}

/// One case: one number of bodies in one precision on one team.
void measure_case(Backend& backend, const Options& options, Emitter& emitter, const Isa& isa, const Subject& subject,
                  double done, double share) {
  Bodies bodies;
  Ledger before;
  {
    const PhaseMark phase(emitter, "init", subject.label);
    bodies = plummer(subject.bodies, static_cast<std::uint64_t>(options.seed));
    backend.load(bodies);
    backend.store(bodies);  // rounded as the backend holds them
    if (subject.precision == Precision::single) {
      for (double& m : bodies.m) m = static_cast<double>(static_cast<float>(m));
    }
    before = ledger(bodies, backend.evaluate());
  }
  std::int64_t taken = 0;
  Series series = measure(backend, options, emitter, subject, done, share, taken);
  std::optional<Residual> checked;
  if (options.verify) {
    const PhaseMark phase(emitter, "verify", subject.label);
    backend.store(bodies);
    const Field field = backend.evaluate();
    const Ledger after = ledger(bodies, field);
    checked = residual({check_forces(bodies, field, options.physics, subject.precision),
                        check_energy(before, after, taken, options.physics, subject.precision),
                        check_momentum(before, after, taken, options.physics, subject.precision)});
  }
  const auto n = static_cast<std::int64_t>(subject.bodies);
  Case result;
  result.kernel = "nbody";
  result.params.add("n", n).add("precision", word(subject.precision)).add("threads", subject.threads);
  result.params.add("backend", "cpu").add("isa", isa.name);
  result.work.add("interactions", n * n * series.steps).add("flop", kFlopEach * n * n * series.steps);
  result.work.add("steps", series.steps);
  result.seconds = std::move(series.seconds);
  result.begin_ns = series.begin_ns;
  result.end_ns = series.end_ns;
  emitter.series(result, checked ? &*checked : nullptr);
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Isa& isa = isa_of(choose_isa(options.isa, isas_built()));
  for (const auto threads : options.threads) choose_cpus(static_cast<int>(threads), options.cpus);
  Emitter emitter;
  Object facts;
  facts.add("isa", isa.name).add("isas_here", machine_isas()).add("threads", options.threads);
  facts.add("softening", options.physics.softening).add("dt", options.physics.dt).add("flop_each", kFlopEach);
  emitter.start("nbody", argc, argv, facts);
  const double share =
      1.0 / static_cast<double>(options.threads.size() * options.bodies.size() * options.precisions.size());
  double done = 0;
  for (const auto threads : options.threads) {
    Team team(choose_cpus(static_cast<int>(threads), options.cpus));
    emitter.facts(Object().add("cpus of " + std::to_string(threads) + " threads", team.binding_words()));
    for (const auto n : options.bodies) {
      for (const Precision precision : options.precisions) {
        const Subject subject{
            static_cast<std::size_t>(n), precision, team.size(),
            std::to_string(n) + " bodies, " + word(precision) + ", " + std::to_string(team.size()) + " threads"};
        const auto backend = make_cpu(team, isa, precision, options.physics, subject.bodies);
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

int main(int argc, char** argv) {
  try {
    return shakedown::nbody::run(argc, argv);
  } catch (const shakedown::Error& error) {
    std::fprintf(stderr, "nbody: %s\n", error.what());
    return error.code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nbody: %s\n", error.what());
    return shakedown::kCouldNotMeasure;
  }
}
