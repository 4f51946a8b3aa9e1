// Our loop for AVX-512 beside what bounds it: the same arithmetic without loads, the processor's multiply-adds over the
// number that a term needs, and the formula as the compiler vectorises it. In turn, on one thread of the caller's CPU,
// by that thread's own time, round by round; one JSON object of seconds.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/isa.hpp"
#include "common/json.hpp"
#include "common/memory.hpp"
#include "peers.hpp"

namespace shakedown::nbody {
namespace {

constexpr std::size_t kTargets = 512, kSources = 1024;

template <class Work>
double seconds(Work&& work) {
  const auto begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  work();
  return static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e-9;
}

template <class T>
Object measure(std::int64_t rounds) {
  const Buffer buffer(4 * (kSources + kTargets) * sizeof(double), Pages::base);
  auto* const from = static_cast<T*>(buffer.data());
  auto* const sums = static_cast<double*>(buffer.data()) + 4 * kSources;
  for (std::size_t i = 0; i < 4 * kSources; ++i)
    from[i] = static_cast<T>(0.1 + static_cast<double>(i * 7919 % 1009) / 1009);
  const Tile<T> tile{from,
                     from + kSources,
                     from + 2 * kSources,
                     kTargets,
                     from,
                     from + kSources,
                     from + 2 * kSources,
                     from + 3 * kSources,
                     kSources,
                     T(0.01),
                     sums,
                     sums + kTargets,
                     sums + 2 * kTargets,
                     sums + 3 * kTargets};
  const auto& ours = loops_of<T>(isa_of("avx512"));
  std::vector<double> times[4];
  for (std::int64_t round = 0; round < rounds; ++round) {
    times[0].push_back(seconds([&] { ours.forces(tile); }));
    times[1].push_back(seconds([&] { loops_of<T>(kRegisters).forces(tile); }));
    times[2].push_back(seconds([&] { loops_of<T>(kCompiler).forces(tile); }));
    // As many multiply-adds as our loop has instructions that only a multiplier does.
    const double terms = static_cast<double>(kTargets * kSources) / static_cast<double>(ours.lanes);
    const auto count = static_cast<std::size_t>(terms * ours.multiplies);
    times[3].push_back(seconds([&] { sizeof(T) == 4 ? fma32(count) : fma64(count); }));
  }
  Object found;
  found.add("interactions", kTargets * kSources).add("lanes", ours.lanes);
  found.add("instructions", ours.instructions).add("multiplies", ours.multiplies);
  found.add("ours", times[0]).add("registers", times[1]).add("compiler", times[2]).add("multipliers", times[3]);
  return found;
}

int run(int argc, char** argv) {
  Args args(argc, argv, "nbody_peers: our AVX-512 loop beside what bounds it.");
  const auto rounds = args.integer("rounds", 200, 1, "times that each is run");
  args.finish();
  choose_isa("avx512", isas_built());
  std::printf("%s\n",
              to_json(Object().add("fp32", measure<float>(rounds)).add("fp64", measure<double>(rounds))).c_str());
  return kOk;
}

}  // namespace
}  // namespace shakedown::nbody

int main(int argc, char** argv) { return shakedown::run_main("nbody_peers", argc, argv, shakedown::nbody::run); }
