// What the user asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "measure.hpp"

namespace shakedown::stream {

struct Options {
  std::vector<Kernel> kernels;
  std::vector<std::int64_t> threads;
  std::vector<std::int64_t> sizes;   // bytes of each array
  std::vector<std::int64_t> caches;  // empty: as the kernel tells
  std::string variant, isa, loop, pages, placement, cpus;
  Budget budget;
  bool verify = true;
  std::optional<std::int64_t> break_element;
};

inline Kernel parse_kernel(const std::string& word) {
  std::string known;
  for (const Kernel kernel : kKernels) {
    if (word == facts_of(kernel).name) return kernel;
    known += (known.empty() ? "" : ", ") + std::string(facts_of(kernel).name);
  }
  throw usage("unknown kernel '" + word + "'", "known: " + known);
}

inline Options parse_options(int argc, char** argv) {
  Args args(argc, argv, "stream: bandwidth of memory and caches. Units: bytes and seconds.");
  Options options;
  for (const auto& word : args.words("kernels", "copy,scale,add,triad", "of copy, scale, add, triad, read, write")) {
    options.kernels.push_back(parse_kernel(word));
  }
  options.threads =
      args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn: 1,2,4");
  options.sizes = args.integers("sizes", "1073741824", 64, "bytes of each of the three arrays, in turn");
  options.variant =
      args.text("variant", "auto",
                "nt: stores past the caches; cached: ordinary stores; both; auto: nt where the arrays exceed "
                "the caches, else cached");
  options.isa = args.text("isa", "auto", "avx512, avx2, sse2, sve, neon or plain; auto: the widest that runs here");
  options.loop = args.text("loop", "auto", "the shape of the loop, see README.md; auto: the fastest in a short trial");
  options.pages = args.text("pages", "huge", "huge: transparent huge pages; base; hugetlb: from the reserved pool");
  options.placement =
      args.text("placement", "local",
                "local: first touch; interleave: page by page over the NUMA nodes; node:K: memory on node K "
                "and threads there first; remote: threads on one node, memory on the farthest other");
  options.cpus =
      args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: one of each core first");
  options.caches =
      args.integers("cache-bytes", "", 0,
                    "sizes of the caches as l1,l2,l3: of each thread, of each thread, of all together; 0: none; "
                    "default: as the kernel reports");
  options.budget.samples = args.integer("samples", 20, 1, "samples of each case at least", 1'000'000);
  options.budget.seconds = args.real("seconds", 0, 0, "repeat each case's kernel for at least so many seconds");
  options.verify = !args.flag("no-verify", "skip the check of every element");
  const auto broken = args.integers("break-element", "", 0, "spoil this element of each result, to see the check fail");
  if (!broken.empty()) options.break_element = broken[0];
  args.finish();
  if (options.kernels.empty() || options.threads.empty() || options.sizes.empty()) {
    throw usage("nothing to measure: --kernels, --threads and --sizes each need a value", "see --help");
  }
  if (options.variant != "auto" && options.variant != "nt" && options.variant != "cached" &&
      options.variant != "both") {
    throw usage("unknown variant '" + options.variant + "'", "known: auto, nt, cached, both");
  }
  if (options.caches.size() > 3)
    throw usage("--cache-bytes takes at most three sizes", "write it as l1,l2,l3 in bytes");
  return options;
}

}  // namespace shakedown::stream
