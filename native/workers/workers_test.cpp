// The kernel by hand, how sweeps are dealt, and the ways without MPI: every worker ends with the cells of one alone.
#include <set>

#include "common/affinity.hpp"
#include "helper.hpp"
#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::workers;

namespace {

Checks checks;

void the_kernel_keeps_its_sum_and_smooths() {
  Field field(1000);
  const auto sum = [&] {
    double all = 0;
    for (const double cell : field.cells()) all += cell;
    return all;
  };
  const double before = sum();
  const std::uint64_t first = field.digest();
  field.sweep();
  checks.that(field.digest() != first, "a sweep changes the cells");
  std::vector<double> start(1000);
  for (std::size_t i = 0; i < 1000; ++i) start[i] = static_cast<double>(i * 7919 % 1000) / 1000;
  checks.equal(field.cells()[0], 0.25 * start[999] + 0.5 * start[0] + 0.25 * start[1], "the ends are neighbours");
  checks.equal(field.cells()[500], 0.25 * start[499] + 0.5 * start[500] + 0.25 * start[501],
               "a cell and its neighbours");
  for (int i = 0; i < 500; ++i) field.sweep();
  checks.that(std::abs(sum() - before) < 1e-9 * before, "what leaves a cell arrives in its neighbours");
  field.restart();
  checks.equal(field.digest(), first, "it begins anew");
}

void sweeps_are_dealt() {
  for (const std::int64_t sweeps : {1, 7, 24, 1000}) {
    for (const int workers : {1, 2, 5, 12, 30}) {
      Task task;
      task.sweeps = sweeps;
      std::int64_t all = 0;
      for (int worker = 0; worker < workers; ++worker) all += task.of(worker, workers);
      checks.equal(all, sweeps, "all sweeps are made once");
      checks.that(task.of(0, workers) - task.of(workers - 1, workers) <= 1, "and dealt evenly");
      task.meet_every = 3;
      checks.equal(task.meetings(workers), task.of(0, workers) / 3, "all meet as often as the first comes to it");
      task.each = true;
      checks.equal(task.of(workers - 1, workers), sweeps, "weak scaling: each makes all");
    }
  }
}

void threads_and_processes_end_alike() {
  const auto usable = allowed_cpus();
  Helper helper;
  for (const Way way : {Way::threads, Way::processes}) {
    for (const int workers : {1, 2, 5}) {
      for (const std::int64_t meet_every : {0, 1, 4}) {
        Task task;
        task.sweeps = 23;
        task.cells = 300;
        task.meet_every = meet_every;
        std::vector<int> cpus;
        cpus.reserve(static_cast<std::size_t>(workers));
        for (int worker = 0; worker < workers; ++worker)
          cpus.push_back(usable[static_cast<std::size_t>(worker) % usable.size()]);
        const auto told = helper.run(way, task, cpus, true);
        checks.equal(told.size(), static_cast<std::size_t>(workers), "each told");
        for (int worker = 0; worker < workers; ++worker) {
          Field field(task.cells);
          for (std::int64_t sweep = 0; sweep < task.of(worker, workers); ++sweep) field.sweep();
          const Told& its = told[static_cast<std::size_t>(worker)];
          checks.equal(its.digest, field.digest(), std::string(name_of(way)) + " has the cells of one alone");
          checks.that(its.end_s >= its.begin_s && its.begin_s == told.front().begin_s, "all begin at one instant");
        }
        task.flip = true;
        const auto damaged = helper.run(way, task, cpus, true);
        checks.that(damaged.back().digest != told.back().digest, "a wrong cell shows");
      }
    }
    Task task;
    task.sweeps = 1;
    task.cells = 8;
    checks.throws<Error>([&] { helper.run(way, task, {1 << 15}, true); }, "a CPU that does not exist");
    const auto after = helper.run(way, task, {usable.front()}, true);
    checks.equal(after.size(), std::size_t{1}, "and the helper goes on");
  }
}

}  // namespace

int main() {
  the_kernel_keeps_its_sum_and_smooths();
  sweeps_are_dealt();
  threads_and_processes_end_alike();
  return checks.end();
}
