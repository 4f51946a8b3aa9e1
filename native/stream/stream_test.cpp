// What must be true of the loops, the check, the levels and the team, on small arrays.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "common/isa.hpp"
#include "level.hpp"
#include "measure.hpp"
#include "place.hpp"

namespace shakedown::stream {
namespace {

int failures = 0;

void expect(bool truth, const std::string& what) {
  if (truth) return;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  ++failures;
}

template <class Call>
void expect_error(ExitCode code, const std::string& part, Call call) {
  try {
    call();
  } catch (const Error& error) {
    expect(error.code == code && std::string(error.what()).find(part) != std::string::npos,
           std::string("the error says '") + part + "', not '" + error.what() + "'");
    return;
  }
  expect(false, "an error that says '" + part + "'");
}

/// A folder that stands for "/" of another machine; gone at the end.
class FakeRoot {
 public:
  FakeRoot() {
    char name[] = "/tmp/shakedown_stream_test_XXXXXX";
    if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~FakeRoot() { std::filesystem::remove_all(path); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + file).parent_path());
    std::ofstream(path + file) << text << '\n';
  }
  std::string path;
};

std::vector<int> team_cpus(int threads) {
  const auto usable = default_cpu_order();
  std::vector<int> cpus;
  for (int i = 0; i < threads; ++i) cpus.push_back(usable[static_cast<std::size_t>(i) % usable.size()]);
  return cpus;
}

void run_once(Team& team, Arrays& arrays, Kernel kernel, Loop loop, Runner& runner) {
  arrays.poison(team, kernel);
  runner.clear_errors();
  runner.pass(kernel, loop, 2);
}

/// Every loop of every instruction set that runs here gives the exact result in every element, at lengths with and without
/// a remainder of its blocks, and an element that is spoilt, left out or NaN is found.
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
          const std::string name = std::string(isa.name) + " " + facts_of(kernel).name + " " + list.first[k].shape + " on " +
                                   std::to_string(elements) + " elements, " + std::to_string(threads) + " threads";
          run_once(team, arrays, kernel, list.first[k].loop, runner);
          expect(arrays.check(team, kernel) == 0, name + ": exact");
          expect(runner.sum_error() == 0, name + ": exact sum");
          arrays.restore(team, kernel);
        }
      }
    }
  }
}

void faults_are_found() {
  Team team(team_cpus(2));
  Arrays arrays(4096, 2, {Pages::base, {}});
  arrays.fill(team);
  Runner runner(team, arrays);
  const auto& plain = *isas_built().first[isas_built().count - 1];
  for (const Kernel kernel : kKernels) {
    const auto loop = plain.cached[static_cast<int>(kernel)].first[0].loop;
    const int target = std::max(facts_of(kernel).out, 0);
    run_once(team, arrays, kernel, loop, runner);
    for (const std::size_t at : {std::size_t{0}, std::size_t{2047}, std::size_t{4095}}) {
      const double good = arrays.at(target)[at];
      arrays.at(target)[at] = good * (1 + 1e-12);
      expect(!Residual_passes(arrays.check(team, kernel)), std::string(facts_of(kernel).name) + ": a spoilt element is found");
      arrays.at(target)[at] = std::numeric_limits<double>::quiet_NaN();
      expect(std::isnan(arrays.check(team, kernel)), std::string(facts_of(kernel).name) + ": a NaN is found");
      arrays.at(target)[at] = good;
    }
    expect(arrays.check(team, kernel) == 0, "mended again");
    arrays.restore(team, kernel);
  }
  // A loop that leaves its last line out.
  const Loop lazy = [](double* out, const double* x, const double*, double, std::size_t n) {
    for (std::size_t i = 0; i + 8 < n; ++i) out[i] = x[i];
    return 0.0;
  };
  run_once(team, arrays, Kernel::copy, lazy, runner);
  expect(std::isnan(arrays.check(team, Kernel::copy)), "elements left out are found");
  // A sum that misses an element.
  const Loop short_sum = [](double*, const double* x, const double*, double, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) sum += x[i];
    return sum;
  };
  run_once(team, arrays, Kernel::read, short_sum, runner);
  expect(runner.sum_error() > 1e-4, "a sum that misses an element is found");
}
