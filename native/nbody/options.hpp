// What the user asks for.
#pragma once

#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "common/args.hpp"
#include "nbody.hpp"

namespace shakedown::nbody {

struct Options {
  std::vector<std::int64_t> bodies, threads;
  std::vector<Precision> precisions;
  std::string isa, cpus;
  Physics physics;
  std::int64_t samples = 5, steps = 0, seed = 1;
  double seconds = 0;
  bool verify = true;
};

inline Options parse_options(int argc, char** argv) {
  Args args(argc, argv,
            "nbody: gravity of n bodies on each other, all pairs, in leapfrog steps. Units: G = 1, mass 1.");
  Options options;
  options.bodies = args.integers("bodies", "65536", 2, "numbers of bodies, in turn: 16384,65536");
  options.threads = args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn");
  for (const auto& name : args.words("precision", "fp32", "fp32, fp64 or both between commas")) {
    if (name != "fp32" && name != "fp64") throw usage("unknown precision '" + name + "'", "known: fp32, fp64");
    options.precisions.push_back(name == "fp32" ? Precision::single : Precision::both_double);
  }
  options.isa = args.text("isa", "auto", "avx512, avx2, sve, neon or plain; auto: the widest that runs here");
  options.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  options.samples = args.integer("samples", 5, 1, "samples of each case at least", 1'000'000);
  options.steps = args.integer("steps", 0, 0, "leapfrog steps of a sample; 0: as many as last 20 ms", 1'000'000);
  options.seconds = args.real("seconds", 0, 0, "go on with each case for at least so many seconds");
  options.physics.softening = args.real("softening", options.physics.softening, 1e-6, "length that softens the force");
  options.physics.dt = args.real("dt", options.physics.dt, 0, "time of a step");
  options.seed = args.integer("seed", 1, 0, "of the bodies' places and velocities");
  options.physics.force_factor =
      1 + args.real("break-force", 0, -2, "add this fraction of it to every force, to see the checks fail");
  options.verify = !args.flag("no-verify", "skip the checks of forces, energy and momentum");
  args.finish();
  if (options.bodies.empty() || options.threads.empty() || options.precisions.empty()) {
    throw usage("nothing to measure: --bodies, --threads and --precision each need a value", "see --help");
  }
  for (const auto n : options.bodies) {
    if (n > (std::int64_t{1} << 30)) throw usage("--bodies " + std::to_string(n) + " is above 2^30", "ask for fewer");
  }
  return options;
}

}  // namespace shakedown::nbody
