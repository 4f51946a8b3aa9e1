// The schedules are what they say, to the nanosecond; what is none is refused with its line.
#include "schedule.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "common/error.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::load;

void patterns(Checks& checks) {
  const auto up = step(0.1, 0.9, 2.5);
  checks.equal(up.size(), std::size_t{3}, "a step has three parts");
  checks.equal(up[1].level, 0.9, "the middle one is high");
  checks.equal(length_ns(up), std::int64_t{7'500'000'000}, "three times the hold");

  const auto wave = square(0, 1, 0.101'000'001, 40, 0.5);
  checks.equal(wave.size(), std::size_t{82}, "two parts a period, and the leads");
  checks.equal(length_ns(wave), std::int64_t{40LL * 101'000'001 + 1'000'000'000}, "periods do not drift by rounding");
  checks.equal(wave[1].level, 1.0, "high comes first");
  checks.equal(wave.back().level, 0.0, "low comes last");
  checks.equal(square(0, 1, 1, 3, 0).size(), std::size_t{6}, "no lead where none is asked for");

  const auto stairs = staircase({0, 0.5, 1}, 1);
  checks.equal(stairs.size(), std::size_t{5}, "up and down");
  checks.equal(stairs[3].level, 0.5, "each level but the last twice");
  checks.equal(constant(0.3, 4).front().level, 0.3, "constant");
}

void marks_are_irregular(Checks& checks) {
  const auto marks = markers(0, 1, 0.1);
  checks.equal(marks.size(), std::size_t{27}, "13 pulses with low around them");
  checks.equal(marks.front().level + marks.back().level, 0.0, "low at both ends");
  std::set<std::int64_t> lengths;
  for (const auto& mark : marks) {
    lengths.insert(mark.length_ns / 10'000'000);
    checks.that(mark.length_ns >= 1'200'000'000 && mark.length_ns < 3'700'000'000, "each lasts 12 to 37 s, scaled");
  }
  checks.equal(lengths.size(), marks.size(), "no two are alike to 10 ms");
}

void files(Checks& checks) {
  const auto read = parse("# a comment\n\n0.5 1 # high\n  2\t0.25\n", "f");
  checks.equal(read.size(), std::size_t{2}, "comments and empty lines are none");
  checks.equal(read[0].length_ns, std::int64_t{500'000'000}, "seconds");
  checks.equal(read[1].level, 0.25, "level");
  for (const char* wrong : {"", "# only\n", "1\n", "1 2\n", "1 -0.1\n", "0 1\n", "1 nan\n", "nan 1\n", "1 1 1\n",
                            "a b\n", "1e9 1\n", "1 0.5x\n"}) {
    checks.throws<Error>([&] { parse(wrong, "f"); }, std::string("refused: ") + wrong);
  }
  checks.throws<Error>([] { square(0, 1, 0.001, 10, 0); }, "half a millisecond is too short");
  checks.throws<Error>([] { square(0, 1, 1, 0, 0); }, "no period");
  checks.throws<Error>([] { staircase({1}, 1); }, "a staircase of one step");
  checks.throws<Error>([] { constant(1.5, 1); }, "more than all");
}

void shares(Checks& checks) {
  for (int threads : {1, 2, 7, 64}) {
    for (double level : {0.0, 0.01, 0.5, 0.73, 1.0}) {
      for (bool evenly : {false, true}) {
        const auto each = duties(level, threads, evenly);
        const double sum = std::accumulate(each.begin(), each.end(), 0.0);
        checks.that(std::fabs(sum - level * threads) < 1e-9, "the shares add up to the level");
        int parts = 0;
        for (const double share : each) parts += static_cast<int>(share > 0 && share < 1);
        checks.that(evenly || parts <= 1, "at most one thread works a part of its time");
      }
    }
  }
}

}  // namespace

int main() {
  Checks checks;
  patterns(checks);
  marks_are_irregular(checks);
  files(checks);
  shares(checks);
  return checks.end();
}
