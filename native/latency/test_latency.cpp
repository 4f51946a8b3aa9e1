// Every chain is one cycle through all of its lines, the loads end where they must, and the program's refusals.
#include <set>

#include "latency.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::latency;

void a_chain_visits_every_line_once(Checks& checks) {
  for (const std::size_t lines : {2, 3, 64, 1000}) {
    const Chain chain(lines * 64, 64, Pages::base, {});
    std::set<const Link*> seen;
    const Link* link = chain.first();
    for (std::size_t i = 0; i < lines; ++i, link = link->next) {
      checks.equal(link->place, i, "places are in the order of the chain");
      seen.insert(link);
    }
    checks.equal(seen.size(), lines, "every line is in it");
    checks.that(link == chain.first(), "it is closed");
  }
  checks.throws<Error>([] { const Chain chain(64, 64, Pages::base, {}); }, "one line is no chain");
}

void the_end_is_known(Checks& checks) {
  const Chain chain(64'000, 64, Pages::base, {});
  for (const std::uint64_t loads : {64, 640, 64'000, 128'064}) {
    const Link* const end = follow(chain.first(), loads);
    checks.equal(defect(end, loads, chain.links()), 0.0, "the end of the loads");
    checks.that(defect(end->next, loads, chain.links()) > 0, "one place too far is seen");
  }
  // A bit that flips in a pointer and leads to another line is seen.
  Link& link = chain.at(17);
  link.next = link.next->next;
  checks.that(defect(follow(chain.first(), 64'000), 64'000, chain.links()) > 0, "a wrong link is seen");
}

void the_program(Checks& checks) {
  const auto run = [](const std::string& arguments) { return run_command(std::string(PROGRAM) + " " + arguments); };
  const auto whole = run("--sizes 4096,65536 --loads 1000 --samples 3");
  checks.that(whole.code == 0 && whole.count("\"event\":\"case\"") == 2 && whole.says("\"loads\":1024"), whole.text);
  checks.that(run("--sizes 4096 --loads 64 --seconds 0.05 --pages base --node 0").says("node:0"), "a node of choice");
  checks.equal(run("--sizes 4096 --break-chain").code, 1, "an end that is wrong");
  checks.equal(run("--sizes 4096 --break-chain --no-verify").code, 0, "nothing is checked");
  checks.equal(run("--sizes 100").code, 2, "too small");
  checks.equal(run("--sizes 1000000000000000").code, 3, "too large");
  checks.equal(run("--node 4711").code, 3, "no such node");
  checks.equal(run("--cpu 1000000").code, 2, "no such CPU");
}

}  // namespace

int main() {
  Checks checks;
  a_chain_visits_every_line_once(checks);
  the_end_is_known(checks);
  the_program(checks);
  return checks.end();
}
