// What the user asks for on the CPU.
#pragma once

#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "setup.hpp"

namespace shakedown::lj {

struct Options : Setup {
  std::vector<std::int64_t> threads;
  std::string isa, cpus;
};

inline Options parse_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "lj: molecular dynamics of a Lennard-Jones fluid at constant energy. Units: sigma, epsilon and the mass are 1.");
  Options options;
  static_cast<Setup&>(options) = read_setup(args);
  options.threads = args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn");
  options.isa = args.text("isa", "auto", "avx512, avx2, sve, neon or plain; auto: the widest that runs here");
  options.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  args.finish();
  check_setup(options);
  if (options.threads.empty()) throw usage("nothing to measure: --threads needs a value", "see --help");
  return options;
}

}  // namespace shakedown::lj
