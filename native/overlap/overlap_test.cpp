// Networks whose progress is planted: the share that is hidden must be what their construction says; pieces of a
// computation are all of it.
#include <cmath>
#include <string>

#include "computation.hpp"
#include "planted.hpp"
#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::overlap;

namespace {

/// As the program does it: the operation and a computation of `iterations` with so many tests in it.
std::int64_t together_ns(Progress progress, std::size_t bytes, std::int64_t iterations, int tests) {
  PlantedNetwork network(progress, bytes);
  network.post();
  bool done = false;
  for (int piece = 0; piece <= tests; ++piece) {
    network.compute(piece_of(iterations, piece, tests + 1));
    if (piece < tests && !done) done = network.test();
  }
  network.wait();
  return network.now_ns();
}

void a_share_is_what_the_network_allows(Checks& checks) {
  for (const Progress progress : {Progress::asynchronous, Progress::stalled, Progress::handshake}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1'000'000}}) {
      for (const double computation : {0.5, 1.0, 1.25, 3.0}) {
        for (const int tests : {0, 1, 3, 16, 1000}) {
          const auto pure_ns = static_cast<double>(together_ns(progress, bytes, 0, 0));
          const std::int64_t posted_ns = progress == Progress::asynchronous ? 0 : PlantedNetwork::kPostNs;
          checks.equal(pure_ns, static_cast<double>(PlantedNetwork::transfer_ns(bytes) + posted_ns),
                       "the operation alone");
          const auto iterations = static_cast<std::int64_t>(std::llround(computation * pure_ns));
          const auto all_ns = static_cast<double>(together_ns(progress, bytes, iterations, tests));
          const double share = 1 - (all_ns - static_cast<double>(iterations)) / pure_ns;
          checks.that(std::abs(share - hidden_share(progress, computation, tests)) < 1e-3,
                      "progress " + std::to_string(static_cast<int>(progress)) + ", " + std::to_string(computation) +
                          " times, " + std::to_string(tests) + " tests: " + std::to_string(share));
        }
      }
    }
  }
  checks.equal(hidden_share(Progress::asynchronous, 1.25, 0), 1.0, "all of it");
  checks.equal(hidden_share(Progress::stalled, 1.25, 16), 0.0, "none of it");
  checks.equal(hidden_share(Progress::handshake, 1.25, 1), 0.625, "begun in the middle");
}

void pieces_are_the_whole(Checks& checks) {
  for (const std::int64_t iterations : {0, 1, 7, 1000, 1001}) {
    for (const int pieces : {1, 2, 3, 17, 2000}) {
      std::int64_t sum = 0;
      for (int piece = 0; piece < pieces; ++piece) {
        const std::int64_t one = piece_of(iterations, piece, pieces);
        checks.that(std::abs(one - iterations / pieces) <= 1, "nearly equal");
        sum += one;
      }
      checks.equal(sum, iterations, "all of them");
    }
  }
  for (const std::int64_t iterations : {0, 1, 1000, 2'000'000}) {
    const double truth = 1 - 0.5 * std::pow(0.999999, static_cast<double>(iterations));
    checks.that(std::abs(compute(iterations) - truth) < 1e-9, "each iteration is in the result");
  }
}

}  // namespace

int main() {
  Checks checks;
  a_share_is_what_the_network_allows(checks);
  pieces_are_the_whole(checks);
  return checks.end();
}
