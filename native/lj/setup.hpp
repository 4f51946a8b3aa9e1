// What the user asks of every backend alike.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "common/writable.hpp"
#include "fluid.hpp"

namespace shakedown::lj {

struct Setup {
  std::vector<std::int64_t> particles;
  std::vector<Precision> precisions;
  std::string write;
  Physics physics;
  Start start = Start::fcc;
  double density = 0.382, temperature = 1.2, skin = 0;  // 0: found in a trial
  std::int64_t samples = 10, steps = 0, equilibrate = 1000, seed = 1;
  double seconds = 0;
  bool verify = true;
};

/// Declares them all; finish() is the caller's, after its own.
inline Setup read_setup(Args& args) {
  Setup setup;
  setup.particles = args.integers("particles", "64000", 100, "numbers of particles, in turn: 64000,1000000");
  for (const auto& name : args.words("precision", "mixed", "mixed, fp64 or both between commas")) {
    if (name != "mixed" && name != "fp64") throw usage("unknown precision '" + name + "'", "known: mixed, fp64");
    setup.precisions.push_back(name == "mixed" ? Precision::mixed : Precision::both_double);
  }
  setup.density = args.real("density", setup.density, 1e-3, "particles in a volume of 1", 1.2);
  setup.physics.cutoff = args.real("cutoff", setup.physics.cutoff, 1, "distance beyond which there is no force", 20);
  setup.temperature = args.real("temperature", setup.temperature, 0.01, "at the start, and after --equilibrate", 100);
  setup.physics.dt = args.real("dt", setup.physics.dt, 0, "time of a step");
  const auto start = args.text("start", "fcc", "fcc: a lattice; random: places at least 0.9 from each other");
  if (start != "fcc" && start != "random") throw usage("unknown start '" + start + "'", "known: fcc, random");
  setup.start = start == "fcc" ? Start::fcc : Start::random;
  setup.equilibrate =
      args.integer("equilibrate", 1000, 0, "steps that bring the fluid to its temperature first", 100'000'000);
  setup.skin = args.real("skin", 0, 0, "by how much lists reach beyond the cutoff; 0: the fastest in a trial", 5);
  setup.samples = args.integer("samples", 10, 1, "samples of each case at least", 1'000'000);
  setup.steps = args.integer("steps", 0, 0, "steps of a sample; 0: as many as last 100 ms, at least 100", 100'000'000);
  setup.seconds = args.real("seconds", 0, 0, "continue each case for at least so many seconds");
  setup.seed = args.integer("seed", 1, 0, "of places and velocities");
  setup.physics.force_factor =
      1 + args.real("break-force", 0, -2, "add this fraction of it to every force, to see the checks fail");
  setup.write = args.text("write", "", "write the particles at the end of the last case here, as a LAMMPS data file");
  setup.verify = !args.flag("no-verify", "skip the checks of forces, energy and momentum");
  return setup;
}

/// The skin of the lists until the fastest is found.
inline constexpr double kFirstSkin = 0.3;

/// Refuse a box that is too small for cells, and a step that would not follow the particles: no fault of a machine
/// shows where the energy is lost by itself.
inline void check_physics(const Setup& setup) {
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return std::string(text);
  };
  const double range = setup.physics.cutoff + (setup.skin > 0 ? setup.skin : kFirstSkin);
  for (const auto n : setup.particles) {
    const double edge = std::cbrt(static_cast<double>(n) / setup.density);
    if (edge >= 3 * range) continue;
    const auto fewest = static_cast<std::int64_t>(27 * range * range * range * setup.density) + 1;
    throw usage("--particles " + std::to_string(n) + ": a box of edge " + number(edge) +
                    " is too small for lists that reach " + number(range),
                "ask for at least " + std::to_string(fewest) + " particles, or a smaller --cutoff or --skin");
  }
  const double most = longest_step(setup.temperature);
  if (setup.physics.dt > 0 && setup.physics.dt <= most) return;
  throw usage("--dt " + number(setup.physics.dt) + ": a step must be above 0 and at most " + number(most) +
                  " at temperature " + number(setup.temperature) + ", or the energy is lost where particles meet",
              "take a shorter --dt or a lower --temperature");
}

/// Refuse what leaves nothing to do, what no fluid can do, and what cannot be written.
inline void check_setup(const Setup& setup) {
  if (setup.particles.empty() || setup.precisions.empty())
    throw usage("nothing to measure: --particles and --precision each need a value", "see --help");
  for (const auto n : setup.particles) {
    if (n > (std::int64_t{1} << 31))
      throw usage("--particles " + std::to_string(n) + " is above 2^31", "ask for fewer");
  }
  check_physics(setup);
  require_writable("write", setup.write);
}

}  // namespace shakedown::lj
