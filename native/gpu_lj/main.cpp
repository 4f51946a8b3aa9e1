// gpu_lj: a Lennard-Jones fluid at constant energy on GPUs. The story: parse -> open -> for each device, number of
// particles and precision: measure one fluid (native/lj/run.cpp) -> emit.
#include <algorithm>
#include <vector>

#include "gpu/program.hpp"
#include "gpu/watch.hpp"
#include "gpu_lj.hpp"
#include "lj/run.hpp"
#include "tasks.hpp"

namespace shakedown::gpu_lj {
namespace {

struct Options {
  gpu::Choice choice;
  lj::Setup setup;
  Limits limits;
  int lanes = 0;  // 0: found in a trial
  std::string nvml;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv,
            "gpu_lj: molecular dynamics of a Lennard-Jones fluid at constant energy on GPUs. Units: sigma, epsilon and "
            "the mass are 1.");
  Options options;
  options.choice = gpu::read_choice(args);
  options.setup = lj::read_setup(args);
  const auto lanes =
      args.text("lanes", "auto", "threads that share a particle: 1, 2, 4, 8; auto: the fastest in a trial");
  options.limits.room = static_cast<std::uint32_t>(
      args.integer("list-room", 0, 0, "neighbours that a list has room for at first; 0: by the density", 1 << 20));
  options.nvml = args.text("nvml", "libnvidia-ml.so.1", "the management library that is queried for clock and power");
  args.finish();
  lj::check_setup(options.setup);
  for (const int one : kLanes) {
    if (lanes == std::to_string(one)) options.lanes = one;
  }
  if (options.lanes == 0 && lanes != "auto") throw usage("--lanes '" + lanes + "'", "auto, 1, 2, 4 or 8");
  return options;
}

/// The number of threads to a particle with which steps are fastest, by the least of three trials in turn.
void choose_lanes(Fluid& fluid, lj::Counted& counted, std::int64_t steps) {
  double seconds[std::size(kLanes)];
  std::fill(std::begin(seconds), std::end(seconds), 1e300);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t k = 0; k < std::size(kLanes); ++k) {
      fluid.set_lanes(kLanes[k]);
      counted.advance(1);
      seconds[k] = std::min(seconds[k], counted.advance(steps));
    }
  }
  fluid.set_lanes(kLanes[std::min_element(std::begin(seconds), std::end(seconds)) - std::begin(seconds)]);
}

/// Clock and power while the samples were taken, as a case of its own.
void emit_conditions(Emitter& emitter, const gpu::Conditions& seen, const Case& of) {
  if (seen.readings == 0) return;
  Case series;
  series.kernel = "conditions";
  series.params = of.params;
  series.work.add("hertz", seen.clock_hz).add("watts", seen.power_w).add("celsius", seen.temperature_c);
  series.work.add("readings", seen.readings).add("reasons", seen.reasons);
  series.begin_ns = of.begin_ns;
  series.end_ns = of.end_ns;
  emitter.series(series, nullptr);
}

/// Returns the fluid at its end where that is to be written.
lj::State measure_case(Emitter& emitter, gpu::Device& device, const Options& options, lj::Subject subject) {
  const auto fluid = make_fluid(device, subject.precision, options.setup.physics, subject.particles, options.limits);
  if (options.lanes > 0) {
    fluid->set_lanes(options.lanes);
  } else {
    subject.tune = [&](lj::Counted& counted) { choose_lanes(*fluid, counted, subject.trial_steps); };
  }
  std::optional<gpu::Watch> watch;
  gpu::Conditions seen;
  subject.before_samples = [&] { watch.emplace(device.info(), options.nvml); };
  subject.after_samples = [&] { seen = watch->finish(); };
  lj::Outcome found = measure_fluid(*fluid, options.setup, emitter, subject);
  gpu::name_device(found.series.params, device.info());
  emit_conditions(emitter, seen, found.series);
  emitter.series(found.series, found.checked ? &*found.checked : nullptr);
  return std::move(found.last);
}

/// Everything on one device. What does not fit is told, the other sizes are measured.
void measure_device(Emitter& emitter, gpu::Device& device, const Options& options, double done, double share,
                    lj::State& last) {
  const auto& setup = options.setup;
  const double each = share / static_cast<double>(setup.particles.size() * setup.precisions.size());
  std::vector<gpu::Failure> too_large;
  for (const auto n : setup.particles) {
    for (const lj::Precision precision : setup.precisions) {
      try {
        last = measure_case(emitter, device, options,
                            {.particles = static_cast<std::size_t>(n),
                             .precision = precision,
                             .label = std::to_string(n) + " particles, " + lj::word(precision) + ", device " +
                                      std::to_string(device.info().index),
                             .done = done,
                             .share = each,
                             .trial_steps = device.info().backend == "host" ? 10 : 400});
      } catch (const gpu::Failure& failure) {
        if (failure.state != gpu::State::out_of_memory) throw;
        too_large.push_back(failure);
      }
      done += each;
    }
  }
  if (too_large.empty()) return;
  for (std::size_t i = 0; i + 1 < too_large.size(); ++i) gpu::tell(emitter, too_large[i]);
  throw gpu::Failure(too_large.back());
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  Object facts = gpu::all_facts(devices);
  facts.add("dt", options.setup.physics.dt).add("ensemble", "NVE").add("equilibrate", options.setup.equilibrate);
  emitter.start("gpu_lj", argc, argv, facts);
  const double share = 1.0 / static_cast<double>(devices.size());
  double done = 0;
  lj::State last;
  const int code = gpu::on_each(emitter, devices, refused, [&](gpu::Device& device) {
    const double before = done;
    done += share;
    measure_device(emitter, device, options, before, share, last);
  });
  emitter.end();
  if (last.count() > 0) lj::write_lammps(last, options.setup.write);
  return code;
}

}  // namespace
}  // namespace shakedown::gpu_lj

int main(int argc, char** argv) { return shakedown::run_main("gpu_lj", argc, argv, shakedown::gpu_lj::run); }
