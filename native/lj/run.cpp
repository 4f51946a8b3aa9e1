#include "run.hpp"

#include <algorithm>
#include <cmath>

namespace shakedown::lj {
namespace {

constexpr double kSampleSeconds = 0.1;
constexpr std::int64_t kLeastSteps = 100;  // so that a sample holds several rebuilds of the lists

/// Samples of `steps` steps each, and the energy before the first and after each.
struct Series {
  std::int64_t steps = 1;
  std::vector<double> seconds, energies;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// Bring the fluid to its temperature: velocities are scaled after each of twenty parts.
void equilibrate(Counted& fluid, const Setup& setup, std::size_t particles) {
  constexpr std::int64_t kParts = 20;
  for (std::int64_t k = 0; k < kParts; ++k) {
    const std::int64_t steps = setup.equilibrate * (k + 1) / kParts - setup.equilibrate * k / kParts;
    if (steps == 0) continue;
    fluid.advance(steps);
    const double found = 2 * fluid.backend.thermo().kinetic / (3 * static_cast<double>(particles - 1));
    if (found > 0) fluid.backend.scale_velocities(std::sqrt(setup.temperature / found));
  }
}

/// The skin with which steps are fastest here: trials in turn, in rounds so that a disturbance meets all.
double choose_skin(Counted& fluid, const Setup& setup, double length, std::int64_t trial_steps) {
  std::vector<double> skins, seconds;
  for (const double skin : {0.2, 0.3, 0.4, 0.5, 0.6, 0.8}) {
    if (length >= 3 * (setup.physics.cutoff + skin)) skins.push_back(skin);
  }
  if (skins.size() < 2) return skins.empty() ? kFirstSkin : skins.front();
  seconds.assign(skins.size(), 1e300);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < skins.size(); ++i) {
      fluid.backend.set_skin(skins[i]);
      fluid.advance(1);
      seconds[i] = std::min(seconds[i], fluid.advance(trial_steps));
    }
  }
  return skins[static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin())];
}

Series measure(Counted& fluid, const Setup& setup, Emitter& emitter, const Subject& subject, const State& state) {
  Series series;
  const auto energy = [&] { return point(fluid.backend.thermo(), state, setup.physics).energy; };
  {
    const PhaseMark phase(emitter, "warmup", subject.label);
    series.steps = setup.steps > 0 ? setup.steps : kLeastSteps;
    const double seconds = fluid.advance(series.steps);
    if (setup.steps == 0) {
      series.steps *= std::max<std::int64_t>(1, std::llround(kSampleSeconds / std::max(seconds, 1e-6)));
    }
  }
  const PhaseMark phase(emitter, "measure", subject.label);
  if (subject.before_samples) subject.before_samples();
  series.begin_ns = unix_ns();
  series.energies.push_back(energy());
  const double start = now_s();
  for (;;) {
    series.seconds.push_back(fluid.advance(series.steps));
    series.energies.push_back(energy());
    const double by_count = static_cast<double>(series.seconds.size()) / static_cast<double>(setup.samples);
    const double by_time = setup.seconds > 0 ? (now_s() - start) / setup.seconds : 1;
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
    emitter.progress(subject.done + subject.share * std::min({by_count, by_time, 1.0}), subject.label);
  }
  series.end_ns = unix_ns();
  if (subject.after_samples) subject.after_samples();
  return series;
}

}  // namespace

Outcome measure_fluid(Backend& backend, const Setup& setup, Emitter& emitter, const Subject& subject) {
  State state;
  Counted counted{backend};
  {
    const PhaseMark phase(emitter, "init", subject.label);
    state =
        fluid(subject.particles, setup.density, setup.temperature, setup.start, static_cast<std::uint64_t>(setup.seed));
    backend.set_skin(setup.skin > 0 ? setup.skin : kFirstSkin);
    backend.load(state);
    equilibrate(counted, setup, subject.particles);
    if (subject.tune) subject.tune(counted);
    backend.set_skin(setup.skin > 0 ? setup.skin : choose_skin(counted, setup, state.length, subject.trial_steps));
  }
  Series series = measure(counted, setup, emitter, subject, state);
  const Thermo thermo = backend.thermo();
  const Point last = point(thermo, state, setup.physics);
  emitter.facts(Object().add("lists of " + subject.label, backend.counters()));
  emitter.facts(Object().add("fluid of " + subject.label, Object()
                                                              .add("length", state.length)
                                                              .add("temperature", last.temperature)
                                                              .add("potential_each", last.potential)
                                                              .add("pressure", last.pressure)
                                                              .add("energy_each_shifted", last.energy)));
  Outcome outcome;
  if (setup.verify || !setup.write.empty()) {
    const PhaseMark phase(emitter, "verify", subject.label);
    Forces forces;
    backend.store(state, forces);
    if (setup.verify) {
      const Verdict pairs = check_forces(state, forces, setup.physics, subject.precision);
      const Verdict energy =
          check_energy(series.energies, series.steps, last.temperature, state, setup.physics, mean_square(forces));
      outcome.checked = residual(
          {pairs, energy, check_momentum(thermo, counted.steps, subject.particles, setup.physics, subject.precision)});
      if (emitter.ok() && pairs.value <= 1 && !(energy.value <= 1)) {
        emitter.advise(
            "the forces are right and the energy is lost: run it again with half of --dt; if it passes, the step was "
            "too long for this system, else look for a fault of this machine");
      }
    }
    if (!setup.write.empty()) outcome.last = std::move(state);
  }
  const auto n = static_cast<std::int64_t>(subject.particles);
  Case& result = outcome.series;
  result.kernel = "lj";
  result.params.add("n", n).add("precision", word(subject.precision));
  result.params.add("density", setup.density).add("cutoff", setup.physics.cutoff);
  result.work.add("particle_steps", n * series.steps).add("steps", series.steps);
  result.seconds = std::move(series.seconds);
  result.begin_ns = series.begin_ns;
  result.end_ns = series.end_ns;
  return outcome;
}

}  // namespace shakedown::lj
