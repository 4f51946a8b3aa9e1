// What the user asks for on the CPU.
#pragma once

#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "common/args.hpp"
#include "session.hpp"

namespace shakedown::nbody {

struct Options {
  Course course;
  std::vector<std::int64_t> threads;
  std::string isa, cpus;
};

inline Options parse_options(int argc, char** argv) {
  Args args(argc, argv,
            "nbody: gravity of n bodies on each other, all pairs, in leapfrog steps. Units: G = 1, mass 1.");
  Options options;
  options.course = read_course(args, "65536");
  options.threads = args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn");
  options.isa = args.text("isa", "auto", "avx512, avx2, sve, neon or plain; auto: the widest that runs here");
  options.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  args.finish();
  require_course(options.course);
  if (options.threads.empty()) throw usage("nothing to measure: --threads needs a value", "see --help");
  return options;
}

}  // namespace shakedown::nbody
