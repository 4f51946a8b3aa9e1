// What must be true of the loops, the check of their results, the samples and the levels.
#include "common/isa.hpp"
#include "common/level.hpp"
#include "measure.hpp"
#include "testing.hpp"

namespace shakedown::stream {
namespace {

/// CPUs for a team of any size: they repeat where the machine has fewer.
std::vector<int> team_cpus(int threads) {
  const auto usable = default_cpu_order();
  std::vector<int> cpus;
  cpus.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) cpus.push_back(usable[static_cast<std::size_t>(i) % usable.size()]);
  return cpus;
}

bool passes(double error) { return error <= kLimit; }  // false for NaN

void run_poisoned(Team& team, Arrays& arrays, Runner& runner, Kernel kernel, Loop loop) {
  arrays.poison(team, kernel);
  runner.clear_errors();
  runner.pass(kernel, loop, 2);
}

/// Every loop of every instruction set that runs here is exact in every element, with and without a remainder of its
/// blocks.
void every_loop_is_exact(std::size_t elements, int threads) {
  Team team(team_cpus(threads));
  Arrays arrays(elements, threads, {Pages::base, {}});
  arrays.fill(team);
  Runner runner(team, arrays);
  const auto runs = machine_isas();
  const auto built = isas_built();
  for (std::size_t i = 0; i < built.count; ++i) {
    const auto& isa = *built.first[i];
    if (std::find(runs.begin(), runs.end(), isa.name) == runs.end()) continue;
    for (const Kernel kernel : kKernels) {
      for (const auto* lists : {isa.cached, isa.non_temporal}) {
        const auto list = lists[static_cast<int>(kernel)];
        for (std::size_t k = 0; k < list.count; ++k) {
          run_poisoned(team, arrays, runner, kernel, list.first[k].loop);
          const std::string name = std::string(isa.name) + " " + facts_of(kernel).name + " " + list.first[k].shape +
                                   ", " + std::to_string(elements) + " elements, " + std::to_string(threads) +
                                   " threads";
          expect(arrays.check(team, kernel) == 0, name + ": exact elements");
          expect(runner.sum_error() == 0, name + ": exact sum");
          arrays.restore(team, kernel);
        }
      }
    }
  }
}

/// Stores past an end would hit a guard page, but within a page of it they would not: the neighbouring bytes stay.
void loops_keep_to_their_chunk() {
  Team team(team_cpus(1));
  Arrays arrays(std::size_t{8} * 1024, 1, {Pages::base, {}});
  arrays.fill(team);
  const auto built = isas_built();
  const auto runs = machine_isas();
  for (std::size_t i = 0; i < built.count; ++i) {
    if (std::find(runs.begin(), runs.end(), built.first[i]->name) == runs.end()) continue;
    const auto list = built.first[i]->cached[static_cast<int>(Kernel::triad)];
    for (std::size_t k = 0; k < list.count; ++k) {
      list.first[k].loop(arrays.at(0) + 64, arrays.at(1) + 64, arrays.at(2) + 64, kScalar, 72);
      for (std::size_t at = 0; at < arrays.elements(); ++at) {
        const bool inside = at >= 64 && at < 136;
        const double expected = inside ? expected_value(Kernel::triad, at) : source_value(0, at);
        if (arrays.at(0)[at] != expected) expect(false, std::string(list.first[k].shape) + " keeps to its chunk");
      }
      arrays.restore(team, Kernel::triad);
    }
  }
}

void spoilt_elements_are_found(Team& team, Arrays& arrays, Runner& runner) {
  const auto& plain = *isas_built().first[isas_built().count - 1];
  for (const Kernel kernel : kKernels) {
    const std::string name = facts_of(kernel).name;
    run_poisoned(team, arrays, runner, kernel, plain.cached[static_cast<int>(kernel)].first[0].loop);
    for (int array = 0; array < 3; ++array) {
      for (const std::size_t at : {std::size_t{0}, arrays.elements() / 2 - 1, arrays.elements() - 1}) {
        const double good = arrays.at(array)[at];
        arrays.at(array)[at] = good * (1 + 1e-12);
        expect(!passes(arrays.check(team, kernel)), name + ": a spoilt element is found");
        arrays.at(array)[at] = std::numeric_limits<double>::quiet_NaN();
        expect(std::isnan(arrays.check(team, kernel)), name + ": a NaN is found and stays one");
        arrays.at(array)[at] = good;
      }
    }
    expect(arrays.check(team, kernel) == 0, name + ": whole again");
    arrays.restore(team, kernel);
  }
}

void wrong_loops_are_found(Team& team, Arrays& arrays, Runner& runner) {
  const Loop leaves_out_the_end = [](double* out, const double* x, const double*, double, std::size_t n) {
    std::copy_n(x, n - 1, out);
    return 0.0;
  };
  run_poisoned(team, arrays, runner, Kernel::copy, leaves_out_the_end);
  expect(!passes(arrays.check(team, Kernel::copy)), "an element left out is found");
  const Loop swaps_neighbours = [](double* out, const double* x, const double*, double, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i ^ 1];
    return 0.0;
  };
  run_poisoned(team, arrays, runner, Kernel::copy, swaps_neighbours);
  expect(!passes(arrays.check(team, Kernel::copy)), "swapped elements are found");
  const Loop forgets_one = [](double*, const double* x, const double*, double, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 1; i < n; ++i) sum += x[i];
    return sum;
  };
  arrays.restore(team, Kernel::copy);
  run_poisoned(team, arrays, runner, Kernel::read, forgets_one);
  expect(!passes(runner.sum_error()), "a sum without one element is found");
  const Loop never_adds = [](double*, const double*, const double*, double, std::size_t) {
    return std::numeric_limits<double>::quiet_NaN();
  };
  run_poisoned(team, arrays, runner, Kernel::read, never_adds);
  expect(!passes(runner.sum_error()), "a sum that is NaN is found");
}

void chunks_partition_the_arrays() {
  for (const int threads : {1, 2, 3, 7, 64}) {
    for (const std::size_t lines : {1U, 5U, 64U, 1000U, 100'001U}) {
      const Arrays arrays(lines * 8, threads, {Pages::base, {}});
      std::size_t next = 0, longest = 0;
      for (int thread = 0; thread < threads; ++thread) {
        const auto [begin, count] = arrays.chunk(thread);
        expect(begin == next && begin % 8 == 0 && count % 8 == 0, "chunks follow each other on whole lines");
        next = begin + count;
        longest = std::max(longest, count);
      }
      expect(next == arrays.elements(), "chunks cover the arrays");
      expect(longest <= arrays.elements() / static_cast<std::size_t>(threads) + 1024, "chunks are of even length");
    }
  }
}

void samples_are_joined_in_pairs() {
  Samples samples{3, {1, 2, 4, 8}};
  halve(samples);
  expect(samples.passes == 6 && samples.seconds == std::vector<double>{3, 12}, "pairs are added, passes doubled");
}

void levels_follow_the_rule() {
  constexpr std::uint64_t kKi = 1024, kMi = kKi * kKi;
  const CacheRoom room = {48 * kKi, 2 * kMi, 32 * kMi};
  expect(level_of(8 * kKi, room) == "l1", "a part of level 1");
  expect(level_of(24 * kKi, room) == "l1", "half of level 1");
  expect(level_of(25 * kKi, room).empty(), "more than half of level 1 is no level");
  expect(level_of(96 * kKi, room) == "l2", "twice level 1");
  expect(level_of(2 * kMi, room).empty(), "all of level 2 is no level");
  expect(level_of(4 * kMi, room) == "l3", "twice level 2");
  expect(level_of(63 * kMi, room).empty(), "less than twice level 3 is no level");
  expect(level_of(64 * kMi, room) == "memory", "twice level 3");
  expect(level_of(4 * kMi, {48 * kKi, 2 * kMi, 0}) == "memory", "without a level 3, memory follows level 2");
  expect(level_of(4 * kMi, {0, 0, 0}).empty(), "no known cache: no level");
  expect(!exceeds_caches(32 * kMi, room) && exceeds_caches(32 * kMi + 1, room), "stores fetch beyond the last cache");
  expect(cache_room(std::vector<std::int64_t>{10, 20, 30}, 4) == CacheRoom{40, 80, 30},
         "levels 1 and 2 are a thread's own");
}

void caches_are_read(const FakeRoot& root) {
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
    const std::string pair = cpu < 2 ? "0-1" : "2-3";
    const char* const rows[4][4] = {{"1", "Data", "48K", pair.c_str()},
                                    {"1", "Instruction", "32K", pair.c_str()},
                                    {"2", "Unified", "2048K", pair.c_str()},
                                    {"3", "Unified", "32M", "0-3"}};
    for (int index = 0; index < 4; ++index) {
      const char* const names[] = {"/level", "/type", "/size", "/shared_cpu_list"};
      for (int k = 0; k < 4; ++k) root.write(folder + std::to_string(index) + names[k], rows[index][k]);
    }
  }
  constexpr std::uint64_t kKi = 1024;
  expect(cache_room({0, 1}, root.path()) == CacheRoom{48 * kKi, 2048 * kKi, 32768 * kKi},
         "two threads of one core share");
  expect(cache_room({0, 2}, root.path()) == CacheRoom{96 * kKi, 4096 * kKi, 32768 * kKi}, "two cores have two");
  expect(cache_room({9}, root.path()) == CacheRoom{0, 0, 0}, "what is not told is 0");
}

}  // namespace
}  // namespace shakedown::stream

int main() {
  using namespace shakedown;
  using namespace shakedown::stream;
  for (const std::size_t elements : {8U, 64U, 4096U, 70'000U}) {
    for (const int threads : {1, 2, 3}) every_loop_is_exact(elements / 8 * 8, threads);
  }
  loops_keep_to_their_chunk();
  {
    Team team(team_cpus(2));
    Arrays arrays(4096, 2, {Pages::base, {}});
    arrays.fill(team);
    Runner runner(team, arrays);
    spoilt_elements_are_found(team, arrays, runner);
    wrong_loops_are_found(team, arrays, runner);
  }
  chunks_partition_the_arrays();
  samples_are_joined_in_pairs();
  levels_follow_the_rule();
  caches_are_read(FakeRoot());
  return checks.end();
}
