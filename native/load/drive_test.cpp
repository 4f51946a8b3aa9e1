// Every edge is told once and in order, none before its time, and the work is what the level asks for and right.
#include "drive.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "common/clock.hpp"
#include "common/isa.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::load;

const probe::Kernel& widest() { return probe::kernel(choose_isa("auto", probe::kernel_names())); }

void edges_keep_to_the_clock(Checks& checks, int threads, bool evenly) {
  Options options;
  options.cpus = choose_cpus(threads, "");
  options.evenly = evenly;
  options.start_unix_ns = unix_ns() + 30'000'000;
  const Schedule schedule = {
      {20'000'000, 0}, {300'000'000, 1}, {200'000'000, 0.5}, {100'000'000, 0.5}, {20'000'000, 0}};
  std::vector<std::size_t> told;
  std::vector<std::int64_t> at;
  const Driven driven = drive(schedule, widest(), options, [&](std::size_t edge, std::int64_t when) {
    told.push_back(edge);
    at.push_back(when);
  });
  checks.equal(driven.edges.size(), schedule.size() + 1, "an edge for each segment, and the end");
  checks.equal(told.size(), driven.edges.size(), "each is told");
  std::int64_t planned = options.start_unix_ns;
  for (std::size_t i = 0; i < driven.edges.size(); ++i) {
    checks.equal(told.at(i), i, "in order");
    checks.equal(at.at(i), driven.edges[i].unix_ns, "with the time it was");
    checks.that(driven.edges[i].late_s >= 0, "never early");
    checks.that(driven.edges[i].unix_ns >= planned - 5'000'000, "nor by the clock of the meters");
    if (i < schedule.size()) planned += schedule[i].length_ns;
  }
  checks.equal(driven.defect, 0.0, "the multiply-adds are exact");
  checks.that(driven.flop > 0 && driven.worked_s > 0 && driven.on_cpu_s > 0, "something was done");
  checks.that(std::abs(driven.asked_s - 0.45 * threads) < 1e-9, "the level asks for thread seconds");
}

void nothing_is_done_at_no_load(Checks& checks) {
  Options options;
  options.cpus = choose_cpus(1, "");
  const Driven idle = drive({{5'000'000, 0}}, widest(), options, [](std::size_t, std::int64_t) {});
  checks.equal(idle.flop, 0.0, "no work");
  checks.equal(idle.worked_s, 0.0, "no time");
  checks.that(idle.end_ns - idle.begin_ns > 0, "but time passed");
}

}  // namespace

int main() {
  Checks checks;
  const int most = static_cast<int>(std::min<std::size_t>(2, allowed_cpus().size()));
  edges_keep_to_the_clock(checks, 1, false);
  edges_keep_to_the_clock(checks, most, false);
  edges_keep_to_the_clock(checks, most, true);
  nothing_is_done_at_no_load(checks);
  Options refused;
  refused.cpus = {1 << 15};
  checks.throws<Error>(
      [&] {
        drive({{1'000'000, 1}}, widest(), refused, [](std::size_t, std::int64_t) {});
      },
      "a CPU that is not there");
  return checks.end();
}
