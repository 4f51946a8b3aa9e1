// The matrix against netlib's generator written from its definition, bit for bit, on every grid.
#include "matrix.hpp"

#include <cmath>
#include <set>

#include "hpl/testing/reference.hpp"
#include "system.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::hpl;
using testing::NetlibRandom;

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Values worked out with whole numbers of any length: x' = 6364136223846793005 x + 1 modulo 2^64 from 100, and the
/// double next to 0.5 - (double)x / 2^64 (each of the two roundings to nearest, ties to even).
void known_values(Checks& checks) {
  struct Known {
    std::uint64_t number;
    double value;
  };
  static constexpr Known kKnown[] = {
      {0, 0x1.0000000000000p-1},       // x = 100
      {1, -0x1.b0d8f532d8000p-15},     // x = 9224323878554545557
      {2, 0x1.8959b2285d2a4p-2},       // x = 2137401632788672050
      {3, 0x1.c65502e86d5b5p-2},       // x = 1038852970972261579
      {4, -0x1.d783dcadd4726p-2},      // x = 17717432700095993008
      {5, -0x1.d69e29ce38e5cp-2},      // x = 17701269089315025649
      {10, -0x1.6cdb6363ff184p-2},     // x = 15796051169564300106
      {100, 0x1.98ae5871e7188p-5},     // x = 8303104153740590288
      {1000, 0x1.88dbf228b5940p-2},    // x = 2146250501998181980
      {999999, 0x1.0c4cd366cf724p-3},  // x = 6806739569490376591
  };
  for (const auto& known : kKnown) {
    checks.that(same(entry_of(kStep.times(known.number)(kSeed)), known.value), "value " + std::to_string(known.number));
  }
}

void one_by_one(Checks& checks) {
  NetlibRandom random;
  std::uint64_t x = kSeed;
  int differ = 0;
  for (int i = 0; i < 300000; ++i, x = kStep(x)) differ += same(entry_of(x), random.next()) ? 0 : 1;
  checks.equal(differ, 0, "300,000 values");
  // States at which a conversion might round twice, or wrongly.
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t near : {std::uint64_t{0} - 1, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}}) {
      for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0} << 10}) {
        const std::uint64_t state = base + (std::uint64_t{1} << bit) + near;
        checks.that(same(entry_of(state), 0.5 - static_cast<double>(state) * 0x1p-64),
                    "state " + std::to_string(state));
      }
    }
  }
  checks.equal(entry_of(0), 0.5, "the largest value");
  checks.equal(entry_of(~std::uint64_t{0}), -0.5, "the smallest, rounded");
}

void jumps(Checks& checks) {
  std::uint64_t x = kSeed;
  for (std::uint64_t k = 0; k < 1000; ++k, x = kStep(x)) {
    checks.that(kStep.times(k)(kSeed) == x, "a jump of " + std::to_string(k));
  }
  for (const std::uint64_t k : {std::uint64_t{1} << 32, (std::uint64_t{1} << 40) + 12345, ~std::uint64_t{0}}) {
    checks.that(kStep.times(k).then(kStep)(kSeed) == kStep.times(k + 1)(kSeed),
                "and of one more than " + std::to_string(k));
  }
  checks.that(kStep.times(0)(17) == 17, "no step stays");
  // The generator goes through all 2^64 states: no two columns of any matrix begin alike.
  std::set<std::uint64_t> starts;
  const Index n = 1 << 16;
  for (Index j = 0; j < 2000; ++j) starts.insert(RowGenerator(n).state(0, j));
  checks.equal(starts.size(), 2000U, "columns of an order that is a power of two differ");
}

void entries(Checks& checks) {
  for (const Index n : {1, 2, 7, 8, 9, 37, 64, 101}) {
    const auto matrix = testing::netlib_matrix(n);
    const RowGenerator generator(n);
    int differ = 0;
    std::vector<double> row(static_cast<std::size_t>(n + 1));
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= n; ++j) {
        const double expected = matrix[static_cast<std::size_t>(i + j * n)];
        differ += same(entry(n, i, j), expected) ? 0 : 1;
        for (const Index count : {Index{1}, std::min<Index>(7, n + 1 - j), n + 1 - j}) {
          generator.fill(generator.state(i, j), count, row.data());
          for (Index l = 0; l < count; ++l) {
            differ += same(row[static_cast<std::size_t>(l)], matrix[static_cast<std::size_t>(i + (j + l) * n)]) ? 0 : 1;
          }
        }
        checks.that(generator.right(j)(generator.state(i, 0)) == generator.state(i, j), "a step to the right");
      }
    }
    checks.equal(differ, 0, "N = " + std::to_string(n));
  }
  // Far entries of a matrix that fits no memory: number (n - 1) n + n - 1 does not fit 32 bits, nor 2^53.
  const Index n = 2'000'000'000;
  const RowGenerator generator(n);
  double two[2];
  generator.fill(generator.state(n - 1, n - 2), 2, two);
  checks.that(same(two[0], entry(n, n - 1, n - 2)) && same(two[1], entry(n, n - 1, n - 1)), "far entries");
  checks.that(
      kStep.times(static_cast<std::uint64_t>(n))(generator.state(n - 1, n - 2)) == generator.state(n - 1, n - 1),
      "and the steps between them");
}

/// What each rank of each grid holds is netlib's matrix, whatever P, Q, NB and the number of threads.
void grids(Checks& checks) {
  for (const Index n : {1, 5, 16, 53}) {
    const auto matrix = testing::netlib_matrix(n);
    for (const Index nb : {1, 4, 7, 16, 64}) {
      for (const auto& [p, q] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 2}, {4, 4}}) {
        for (int rank = 0; rank < p * q; ++rank) {
          Config config;
          config.n = n;
          config.nb = std::min(nb, n);
          config.p = p;
          config.q = q;
          Grid grid;
          grid.p = p;
          grid.q = q;
          grid.row = rank / q;
          grid.column = rank % q;
          System system(config, grid, Pages::base);
          Team team(std::vector<int>(static_cast<std::size_t>(1 + rank % 3), allowed_cpus().front()));
          system.generate(team);
          int differ = 0;
          for (Index i = 0; i < system.height; ++i) {
            for (Index j = 0; j < system.width; ++j) {
              const Index row = system.row_map.global(i, grid.row), column = system.column_map.global(j, grid.column);
              differ += same(system.row(i)[j], matrix[static_cast<std::size_t>(row + column * n)]) ? 0 : 1;
            }
          }
          checks.equal(differ, 0,
                       "N " + std::to_string(n) + ", NB " + std::to_string(nb) + ", " + std::to_string(p) + " x " +
                           std::to_string(q) + ", rank " + std::to_string(rank));
        }
      }
    }
  }
}

}  // namespace

int main() {
  Checks checks;
  known_values(checks);
  one_by_one(checks);
  jumps(checks);
  entries(checks);
  grids(checks);
  return checks.end();
}
