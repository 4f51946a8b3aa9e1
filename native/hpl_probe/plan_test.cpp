#include "plan.hpp"

#include <set>

#include "common/error.hpp"
#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::hpl_probe;

namespace {

Sweep small() {
  Sweep sweep;
  sweep.rows = 64;
  sweep.columns = 256;
  return sweep;
}

int count(const std::vector<Task>& plan, Kind kind) {
  int found = 0;
  for (const auto& task : plan) found += task.kind == kind;
  return found;
}

void check_plan(Checks& checks) {
  const auto alone = make_plan(small(), {1, 1, false, false});
  checks.equal(count(alone, Kind::gemm), 8, "a product for each k");
  checks.equal(count(alone, Kind::solve), 9, "NB and ways to solve");
  checks.equal(count(alone, Kind::panel), 6, "one thread: no gang beside products");
  checks.equal(count(alone, Kind::ring) + count(alone, Kind::latency), 0, "one rank sends nothing");
  const auto four = make_plan(small(), {4, 3, true, true});
  checks.equal(count(four, Kind::panel), 2 * 3 * (2 + 2 + 1), "gangs of 1, 2 and 3; all of them leave nobody busy");
  checks.equal(count(four, Kind::ring), 6 * 2 * 2 * 2, "sizes, scopes, contended, busy");
  checks.equal(count(four, Kind::latency), 4, "scopes, busy");
  checks.equal(count(four, Kind::narrow), 1 + 3, "heights and widths below those of the full product");
  std::set<std::string> distinct;
  for (const auto& task : four) distinct.insert(name_of(task.kind) + to_json(params_of(task, {4, 3, true, true}, 1)));
  checks.equal(distinct.size(), four.size(), "no case twice");
}

void check_order(Checks& checks) {
  auto sweep = small();
  const auto words = [&] {
    std::string text;
    for (const auto& task : make_plan(sweep, {2, 2, true, false})) text += to_json(params_of(task, {}, 1));
    return text;
  };
  const auto one = words();
  checks.equal(words(), one, "the same seed, the same order");
  sweep.seed = 2;
  checks.that(words() != one, "another seed, another order");
  sweep.only = {Kind::ring};
  checks.throws<Error>([&] { (void)make_plan(sweep, {1, 2, false, false}); }, "no ring for one rank");
  checks.equal(count(make_plan(sweep, {2, 2, true, false}), Kind::gemm), 0, "only what was asked for");
  checks.throws<Error>([] { (void)parse_kind("gem"); }, "an unknown probe");
}

void check_rings(Checks& checks) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "b", "c"};
  const Ring within = ring_within(hosts);
  checks.that(within.to == std::vector<int>({1, 0, 3, 4, 2, -1}), "round each host");
  checks.that(within.from == std::vector<int>({1, 0, 4, 2, 3, -1}), "and back");
  checks.equal(within.senders, 3, "of the host that has most");
  checks.equal(within.first, 0, "the first pair");
  const Ring across = ring_across(hosts);
  checks.that(across.to == std::vector<int>({2, 3, 5, 1, -1, 0}), "every message leaves its host");
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const int to = across.to[rank];
    if (to < 0) continue;
    checks.that(hosts[static_cast<std::size_t>(to)] != hosts[rank], "another host");
    checks.equal(across.from[static_cast<std::size_t>(to)], static_cast<int>(rank), "both know of each other");
  }
  checks.equal(across.senders, 2, "the third rank of one host has nobody");
  checks.equal(ring_across({"a", "a"}).first, -1, "one host");
  checks.equal(ring_within({"a", "b"}).first, -1, "one rank a host");
  checks.equal(ring_within({"a", "b", "a"}).to[0], 2, "ranks dealt in turn");
}

void check_work(Checks& checks) {
  Task task;
  task.rows = 10;
  task.columns = 20;
  task.k = 3;
  task.threads = 2;
  checks.equal(flop_of(task), 2.0 * 10 * 20 * 3 * 2, "2 m n k of each thread");
  task.kind = Kind::solve;
  checks.equal(flop_of(task), 9.0 * 20, "NB^2 for each column");
  task.kind = Kind::panel;
  task.rows = 3;  // a square: 2/3 n^3
  checks.equal(flop_of(task), 18.0, "NB^2 (rows - NB / 3)");
}

}  // namespace

int main() {
  Checks checks;
  check_plan(checks);
  check_order(checks);
  check_rings(checks);
  check_work(checks);
  return checks.end();
}
