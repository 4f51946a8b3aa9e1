// lj: a Lennard-Jones fluid at constant energy. The story: parse -> for each number of threads, particles and each
// precision: make the fluid, bring it to its temperature, choose the skin, measure samples of steps, check forces,
// energy and momentum, emit.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>

#include "common/emit.hpp"
#include "common/isa.hpp"
#include "cpu.hpp"
#include "fluid.hpp"
#include "options.hpp"

namespace shakedown::lj {
namespace {

constexpr double kSampleSeconds = 0.1;
constexpr double kFirstSkin = 0.3;         // until the fastest is found
constexpr std::int64_t kLeastSteps = 100;  // so that a sample holds several rebuilds of the lists

struct Subject {
  std::size_t particles;
  Precision precision;
  int threads;
  std::string label;  // for a person
};

/// Samples of `steps` steps each, and the energy before the first and after each.
struct Series {
  std::int64_t steps = 1;
  std::vector<double> seconds, energies;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// A backend whose steps are counted, since what rounding may do grows with them.
struct Counted {
  Backend& backend;
  std::int64_t steps = 0;
  double advance(std::int64_t more) {
    steps += more;
    return backend.advance(more);
  }
};

/// Bring the fluid to its temperature: velocities are scaled after each of twenty parts.
void equilibrate(Counted& fluid, const Options& options, std::size_t particles) {
  constexpr std::int64_t kParts = 20;
  for (std::int64_t k = 0; k < kParts; ++k) {
    const std::int64_t steps = options.equilibrate * (k + 1) / kParts - options.equilibrate * k / kParts;
    if (steps == 0) continue;
    fluid.advance(steps);
    const double found = 2 * fluid.backend.thermo().kinetic / (3 * static_cast<double>(particles - 1));
    if (found > 0) fluid.backend.scale_velocities(std::sqrt(options.temperature / found));
  }
}

/// The skin with which steps are fastest here: trials in turn, in rounds so that a disturbance meets all.
double choose_skin(Counted& fluid, const Options& options, double length) {
  std::vector<double> skins, seconds;
  for (const double skin : {0.2, 0.3, 0.4, 0.5, 0.6, 0.8}) {
    if (length >= 3 * (options.physics.cutoff + skin)) skins.push_back(skin);
  }
  if (skins.size() < 2) return skins.empty() ? kFirstSkin : skins.front();
  seconds.assign(skins.size(), 1e300);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < skins.size(); ++i) {
      fluid.backend.set_skin(skins[i]);
      fluid.advance(1);
      seconds[i] = std::min(seconds[i], fluid.advance(40));
    }
  }
  return skins[static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin())];
}

Series measure(Counted& fluid, const Options& options, Emitter& emitter, const Subject& subject, const State& state,
               double done, double share) {
  Series series;
  const auto energy = [&] { return point(fluid.backend.thermo(), state, options.physics).energy; };
  {
    const PhaseMark phase(emitter, "warmup", subject.label);
    series.steps = options.steps > 0 ? options.steps : kLeastSteps;
    const double seconds = fluid.advance(series.steps);
    if (options.steps == 0) {
      series.steps *= std::max<std::int64_t>(1, std::llround(kSampleSeconds / std::max(seconds, 1e-6)));
    }
  }
  const PhaseMark phase(emitter, "measure", subject.label);
  series.begin_ns = unix_ns();
  series.energies.push_back(energy());
  const double start = now_s();
  for (;;) {
    series.seconds.push_back(fluid.advance(series.steps));
    series.energies.push_back(energy());
    const double by_count = static_cast<double>(series.seconds.size()) / static_cast<double>(options.samples);
    const double by_time = options.seconds > 0 ? (now_s() - start) / options.seconds : 1;
    if (by_count >= 1 && by_time >= 1) break;
    if (series.seconds.size() == 10'000) {  // hours of load stay a small file: join them two by two
      for (std::size_t i = 0; i < 5'000; ++i) {
        series.seconds[i] = series.seconds[2 * i] + series.seconds[2 * i + 1];
        series.energies[i + 1] = series.energies[2 * i + 2];
      }
      series.seconds.resize(5'000);
      series.energies.resize(5'001);
      series.steps *= 2;
    }
    emitter.progress(done + share * std::min({by_count, by_time, 1.0}), subject.label);
  }
  series.end_ns = unix_ns();
  return series;
}

void measure_case(Backend& backend, const Options& options, Emitter& emitter, const Isa& isa, const Subject& subject,
                  double done, double share) {
  State state;
  Counted counted{backend};
  {
    const PhaseMark phase(emitter, "init", subject.label);
    state = fluid(subject.particles, options.density, options.temperature, options.start,
                  static_cast<std::uint64_t>(options.seed));
    backend.set_skin(options.skin > 0 ? options.skin : kFirstSkin);
    backend.load(state);
    equilibrate(counted, options, subject.particles);
    backend.set_skin(options.skin > 0 ? options.skin : choose_skin(counted, options, state.length));
  }
  Series series = measure(counted, options, emitter, subject, state, done, share);
  const Thermo thermo = backend.thermo();
  const Point last = point(thermo, state, options.physics);
  emitter.facts(Object().add("lists of " + subject.label, backend.counters()));
  emitter.facts(Object().add("fluid of " + subject.label, Object()
                                                              .add("length", state.length)
                                                              .add("temperature", last.temperature)
                                                              .add("potential_each", last.potential)
                                                              .add("pressure", last.pressure)
                                                              .add("energy_each_shifted", last.energy)));
  std::optional<Residual> checked;
  if (options.verify || !options.write.empty()) {
    const PhaseMark phase(emitter, "verify", subject.label);
    Forces forces;
    backend.store(state, forces);
    if (!options.write.empty()) write_lammps(state, options.write);
    if (options.verify) {
      checked =
          residual({check_forces(state, forces, options.physics, subject.precision),
                    check_energy(series.energies, series.steps, last.temperature, state, options.physics),
                    check_momentum(thermo, counted.steps, subject.particles, options.physics, subject.precision)});
    }
  }
  const auto n = static_cast<std::int64_t>(subject.particles);
  Case result;
  result.kernel = "lj";
  result.params.add("n", n).add("precision", word(subject.precision)).add("threads", subject.threads);
  result.params.add("density", options.density).add("cutoff", options.physics.cutoff);
  result.params.add("backend", "cpu").add("isa", isa.name);
  result.work.add("particle_steps", n * series.steps).add("steps", series.steps);
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
  facts.add("dt", options.physics.dt).add("ensemble", "NVE").add("equilibrate", options.equilibrate);
  emitter.start("lj", argc, argv, facts);
  const double share =
      1.0 / static_cast<double>(options.threads.size() * options.particles.size() * options.precisions.size());
  double done = 0;
  for (const auto threads : options.threads) {
    Team team(choose_cpus(static_cast<int>(threads), options.cpus));
    emitter.facts(Object().add("cpus of " + std::to_string(threads) + " threads", team.binding_words()));
    for (const auto n : options.particles) {
      for (const Precision precision : options.precisions) {
        const Subject subject{
            static_cast<std::size_t>(n), precision, team.size(),
            std::to_string(n) + " particles, " + word(precision) + ", " + std::to_string(team.size()) + " threads"};
        const auto backend = make_cpu(team, isa, precision, options.physics, subject.particles);
        measure_case(*backend, options, emitter, isa, subject, done, share);
        done += share;
      }
    }
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::lj

int main(int argc, char** argv) {
  try {
    return shakedown::lj::run(argc, argv);
  } catch (const shakedown::Error& error) {
    std::fprintf(stderr, "lj: %s\n", error.what());
    return error.code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lj: %s\n", error.what());
    return shakedown::kCouldNotMeasure;
  }
}
