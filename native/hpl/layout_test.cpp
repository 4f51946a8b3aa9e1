// The distribution against dealing index by index; indices and message lengths beyond 32 bits, by arithmetic.
#include "layout.hpp"

#include <climits>
#include <cmath>
#include <numeric>
#include <vector>

#include "messages.hpp"
#include "panel.hpp"
#include "system.hpp"
#include "testing/check.hpp"
#include "wire.hpp"
#include "world.hpp"

namespace {

using namespace shakedown::hpl;
using shakedown::Checks;

void dealt(Checks& checks) {
  for (const Index block : {1, 2, 3, 7, 64}) {
    for (const int parts : {1, 2, 3, 4, 6}) {
      const Cyclic map{block, parts};
      std::vector<Index> counts(static_cast<std::size_t>(parts));
      for (Index global = 0; global < 200; ++global) {
        const int owner = static_cast<int>(global / block) % parts;
        auto& count = counts[static_cast<std::size_t>(owner)];
        bool right = map.owner(global) == owner && map.local(global) == count && map.global(count, owner) == global;
        for (int part = 0; part < parts; ++part) {
          right = right && map.count(global, part) == counts[static_cast<std::size_t>(part)];
        }
        checks.that(right, "index " + std::to_string(global) + " of blocks of " + std::to_string(block) + " on " +
                               std::to_string(parts));
        ++count;
      }
    }
  }
}

void beyond_32_bits(Checks& checks) {
  // N = 20,000,000 on 64 x 128: a local part of 312,576 rows, whose doubles number 4.9e10.
  const Cyclic rows{384, 64}, columns{384, 128};
  const Index n = 20'000'000;
  Index total = 0;
  for (int part = 0; part < 64; ++part) total += rows.count(n, part);
  checks.equal(total, n, "every row has one place");
  const Index last = n - 1;
  checks.equal(rows.global(rows.local(last), rows.owner(last)), last, "the last row is found again");
  const Index entries = rows.count(n, 0) * padded(columns.count(n + 1, 0));
  checks.that(entries > INT_MAX, "a rank's entries do not fit an int");
  checks.that(rows.local(last) * padded(columns.count(n + 1, 0)) > INT_MAX, "nor does the place of its last row");
  for (const Index far : {Index{INT_MAX} - 1, Index{INT_MAX}, Index{INT_MAX} + 1, Index{1} << 40}) {
    checks.equal(columns.global(columns.local(far), columns.owner(far)), far, "and far indices have places");
  }
}

void lengths(Checks& checks) {
  checks.equal(padded(0), 8, "nothing still has a line");
  for (Index length = 1; length < 3000; ++length) {
    const Index ld = padded(length);
    checks.that(ld >= length && ld < length + 16 && ld % 8 == 0 && ld / 8 % 2 == 1,
                "whole lines, an odd number of them: " + std::to_string(length));
  }
  checks.equal(round_up(17, 8), 24, "rounded up");
  checks.equal(round_up(16, 8), 16, "what is whole stays");
}

void messages_in_pieces(Checks& checks) {
  checks.that(pieces(0).empty(), "nothing is not sent");
  checks.equal(pieces(1).size(), 1U, "one piece");
  for (const Index count : {kMostDoubles - 1, kMostDoubles, kMostDoubles + 1, 5 * kMostDoubles + 3, Index{1} << 33}) {
    const auto lengths = pieces(count);
    checks.equal(std::accumulate(lengths.begin(), lengths.end(), Index{0}), count, "the pieces are the whole");
    checks.equal(static_cast<Index>(lengths.size()), (count + kMostDoubles - 1) / kMostDoubles, "as few as can be");
    for (const int length : lengths) {
      checks.that(length > 0 && length <= kMostDoubles, "each fits MPI's count, and its bytes fit 2^31");
    }
  }
  checks.that(kMostDoubles * Index{sizeof(double)} <= Index{1} << 31, "a piece is at most 2 GiB");
}

/// What a run takes is counted without wrapping round, even where no machine has it.
void memory(Checks& checks) {
  Config config;
  config.nb = 256;
  config.n = 100'000;
  const double matrix = 8.0 * 100'000 * 100'001;
  auto bytes = static_cast<double>(System::bytes(config));
  checks.that(bytes > matrix && bytes < 1.02 * matrix, "the matrix and some panels");
  config.n = 8000;
  config.nb = 192;
  const double small = 8.0 * 8000 * 8000;
  for (const int p : {1, 2}) {
    config.p = p;
    const auto run = static_cast<double>(run_bytes(config, 2)) * p;
    checks.that(run > small && run < (p == 1 ? 1.02 : 1.2) * small, "no copy of a panel with one process column");
  }
  checks.that(run_bytes(config, 2) > run_bytes(config, 1), "each thread's copies for its products");
  config.p = 1;
  config.q = 2;
  checks.that(2 * static_cast<double>(System::bytes(config)) > 1.1 * small, "panels that travel need room");
  config.n = 100'000;
  config.nb = 256;
  config.p = config.q = 2;
  bytes = static_cast<double>(System::bytes(config));
  checks.that(bytes > matrix / 4 && bytes < 1.1 * matrix / 4, "a quarter of it, and the rows on their way");
  double before = 0;
  for (const Index n : {Index{46'340}, Index{46'341}, Index{1} << 20, Index{1} << 30, Index{INT_MAX}}) {
    for (const Index nb : {Index{1}, Index{256}, Index{1} << 20, Index{INT_MAX}}) {
      Config large;
      large.n = n;
      large.nb = std::min(nb, n);
      large.depth = 16;
      const auto need = static_cast<double>(System::bytes(large));
      const double least = 8.0 * static_cast<double>(n) * static_cast<double>(n);
      checks.that(need >= std::min(least, 1.8e19),
                  "N " + std::to_string(n) + ", NB " + std::to_string(nb) + ": " + std::to_string(need) + " bytes");
      checks.that(nb > 1 || need > before, "more for more");
      if (nb == 1) before = need;
    }
  }
}

/// To the microsecond: on their way they are doubles.
bool near(const std::vector<shakedown::TimeSpan>& some, const std::vector<shakedown::TimeSpan>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), [](const auto& one, const auto& other) {
    return std::abs(one.begin_ns - other.begin_ns) < 1000 && std::abs(one.end_ns - other.end_ns) < 1000;
  });
}

void reports(Checks& checks) {
  Report report;
  report.seconds = {1.5, 2.5};
  report.check.residual = 0.25;
  report.check.x_one = 7;
  report.checked = true;
  report.shares.wait = 3;
  report.ceiling_seconds = {4};
  report.spans = {{1'700'000'000'000'000'000, 1'700'000'001'500'000'000},
                  {1'700'000'002'000'000'000, 1'700'000'004'500'000'000}};
  report.ceiling_spans = {{1'700'000'010'000'000'000, 1'700'000'014'000'000'000}};
  report.windows = {{1, 2, 3, 4, {}}, {5, 6, 7, 8, report.spans[0]}};
  report.clock_hz[1] = 2e9;
  const Report copy = unpack_report(pack_report(report));
  checks.that(copy.seconds == report.seconds && copy.check.residual == 0.25 && copy.check.x_one == 7 && copy.checked &&
                  copy.shares.wait == 3 && copy.ceiling_seconds == report.ceiling_seconds && copy.windows.size() == 2 &&
                  copy.windows[1].order == 5 && copy.windows[1].seconds == 8 && near(copy.spans, report.spans) &&
                  near(copy.ceiling_spans, report.ceiling_spans) && near({copy.windows[1].span}, {report.spans[0]}) &&
                  copy.clock_hz[1] == 2e9,
              "a report comes over whole");
  report.check.residual = std::nan("");
  report.checked = false;
  checks.that(std::isnan(unpack_report(pack_report(report)).check.residual), "NaN stays NaN");
  checks.that(!unpack_report(pack_report(report)).checked, "what was not checked is not checked");
  checks.that(pack_report(Report{}).size() == pack_report(unpack_report(pack_report(Report{}))).size(),
              "nor is nothing");
  checks.equal(flop_count(1000), 2.0 / 3.0 * 1e9 + 1.5e6, "netlib's count of operations");
  checks.that(flop_count(20'000'000) > 5.3e21, "which is a double");
}

}  // namespace

int main() {
  Checks checks;
  dealt(checks);
  beyond_32_bits(checks);
  lengths(checks);
  messages_in_pieces(checks);
  memory(checks);
  reports(checks);
  return checks.end();
}
