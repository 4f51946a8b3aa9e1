// What the user asks for.
#pragma once

#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "common/args.hpp"
#include "fluid.hpp"

namespace shakedown::lj {

struct Options {
  std::vector<std::int64_t> particles, threads;
  std::vector<Precision> precisions;
  std::string isa, cpus, write;
  Physics physics;
  Start start = Start::fcc;
  double density = 0.382, temperature = 1.2, skin = 0;  // 0: found in a trial
  std::int64_t samples = 10, steps = 0, equilibrate = 1000, seed = 1;
  double seconds = 0;
  bool verify = true;
};

inline Options parse_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "lj: molecular dynamics of a Lennard-Jones fluid at constant energy. Units: sigma, epsilon and the mass are 1.");
  Options options;
  options.particles = args.integers("particles", "64000", 100, "numbers of particles, in turn: 64000,1000000");
  options.threads = args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn");
  for (const auto& name : args.words("precision", "mixed", "mixed, fp64 or both between commas")) {
    if (name != "mixed" && name != "fp64") throw usage("unknown precision '" + name + "'", "known: mixed, fp64");
    options.precisions.push_back(name == "mixed" ? Precision::mixed : Precision::both_double);
  }
  options.isa = args.text("isa", "auto", "avx512, avx2, sve, neon or plain; auto: the widest that runs here");
  options.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  options.density = args.real("density", options.density, 1e-3, "particles in a volume of 1");
  options.physics.cutoff = args.real("cutoff", options.physics.cutoff, 1, "distance beyond which there is no force");
  options.temperature = args.real("temperature", options.temperature, 0, "at the start, and after --equilibrate");
  options.physics.dt = args.real("dt", options.physics.dt, 0, "time of a step");
  const auto start = args.text("start", "fcc", "fcc: a lattice; random: places at least 0.9 from each other");
  if (start != "fcc" && start != "random") throw usage("unknown start '" + start + "'", "known: fcc, random");
  options.start = start == "fcc" ? Start::fcc : Start::random;
  options.equilibrate =
      args.integer("equilibrate", 1000, 0, "steps that bring the fluid to its temperature first", 100'000'000);
  options.skin = args.real("skin", 0, 0, "by how much lists reach beyond the cutoff; 0: the fastest in a trial");
  options.samples = args.integer("samples", 10, 1, "samples of each case at least", 1'000'000);
  options.steps =
      args.integer("steps", 0, 0, "steps of a sample; 0: as many as last 100 ms, at least 100", 100'000'000);
  options.seconds = args.real("seconds", 0, 0, "go on with each case for at least so many seconds");
  options.seed = args.integer("seed", 1, 0, "of places and velocities");
  options.physics.force_factor =
      1 + args.real("break-force", 0, -2, "add this fraction of it to every force, to see the checks fail");
  options.write = args.text("write", "", "write the particles at the end of the last case here, as a LAMMPS data file");
  options.verify = !args.flag("no-verify", "skip the checks of forces, energy and momentum");
  args.finish();
  if (options.particles.empty() || options.threads.empty() || options.precisions.empty()) {
    throw usage("nothing to measure: --particles, --threads and --precision each need a value", "see --help");
  }
  for (const auto n : options.particles) {
    if (n > (std::int64_t{1} << 31))
      throw usage("--particles " + std::to_string(n) + " is above 2^31", "ask for fewer");
  }
  return options;
}

}  // namespace shakedown::lj
