// What must be true of the loops: profiles are those of the ground, every instruction set gives the same, a loss does
// not depend on its neighbours, what has no loss says so, and single precision is near double on every kind of terrain.
#include "loops.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "terrain.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::radio {
namespace {

constexpr Precision kBoth[] = {Precision::fp64, Precision::fp32};
const char* name_of(Precision precision) { return precision == Precision::fp64 ? "fp64" : "fp32"; }

std::vector<float> losses_of(const Isa& isa, Precision precision, const Links& links,
                             const std::vector<Route>& routes) {
  const Aligned scratch(isa.scratch_numbers(links.points));
  std::vector<float> losses(routes.size());
  isa.losses(precision)(links, routes.data(), routes.size(), scratch.data(), losses.data());
  return losses;
}

bool alike(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Routes at random over a grid; every third bends a little, as a geodesic does.
std::vector<Route> random_routes(std::uint64_t seed, std::size_t count, int rows, int columns) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(0, 1);
  std::vector<Route> routes;
  while (routes.size() < count) {
    const auto at = [&](int most) { return 2 + draw(random) * (most - 5); };
    Route route = straight_route(at(columns), at(rows), at(columns), at(rows), 30, 0);
    if (routes.size() % 3 == 0) {
      for (auto* const way : {route.column, route.row}) {  // the ends stay
        const double bend = draw(random), twist = draw(random) - 0.5;
        way[1] -= bend + twist;
        way[2] = bend;
        way[3] = twist;
      }
    }
    route.antenna_m[0] = 1 + 30 * draw(random);
    route.antenna_m[1] = 2;
    routes.push_back(route);
  }
  return routes;
}

double bilinear(const std::vector<float>& heights, int columns, double x, double y) {
  const int column = static_cast<int>(x), row = static_cast<int>(y);
  const auto at = [&](int r, int c) {
    const int rows = static_cast<int>(heights.size()) / columns;
    const int inside = std::min(r, rows - 1) * columns + std::min(c, columns - 1);
    return static_cast<double>(heights[static_cast<std::size_t>(inside)]);
  };
  const double right = x - column, up = y - row;
  return (1 - up) * ((1 - right) * at(row, column) + right * at(row, column + 1)) +
         up * ((1 - right) * at(row + 1, column) + right * at(row + 1, column + 1));
}

/// A grid of rows of another length than columns, through both kinds of height.
void test_profiles(Checks& checks) {
  constexpr int kRows = 90, kColumns = 131, kPoints = 77;
  std::mt19937_64 random(3);
  std::vector<float> heights;
  std::vector<std::int16_t> numbers;
  for (int i = 0; i < kRows * kColumns; ++i) {
    numbers.push_back(static_cast<std::int16_t>(random() % 60000 - 30000));
    heights.push_back(0.25F * static_cast<float>(numbers.back()) + 100);
  }
  const Ground whole(numbers, kRows, kColumns, 0.25, 100), floats(heights, kRows, kColumns);
  std::vector<Route> routes = random_routes(5, 200, kRows, kColumns);
  routes.push_back(straight_route(0, 0, kColumns - 1, kRows - 1, 30, 2));  // from edge to edge
  routes.push_back(straight_route(kColumns - 1, kRows - 1, 0, kRows - 1, 30, 2));
  for (const Route& route : routes) {
    Route held = route;
    held.antenna_m[0] = 2;
    const auto profile = profile_of(whole, held, kPoints), same = profile_of(floats, held, kPoints);
    checks.equal(profile.size(), static_cast<std::size_t>(kPoints), "points");
    for (std::size_t i = 0; i < profile.size(); ++i) {
      const double t = static_cast<double>(i) / (kPoints - 1);
      const auto at = [&](const double(&c)[4]) { return c[0] + t * (c[1] + t * (c[2] + t * c[3])); };
      const double expected = bilinear(heights, kColumns, at(route.column), at(route.row));
      checks.that(std::fabs(profile[i] - expected) < 1e-8 && std::fabs(same[i] - expected) < 1e-8, "height");
    }
  }
}

void test_instruction_sets(Checks& checks) {
  const Terrain terrain = synthetic_terrain(1, 257, 30, 500);
  const auto routes = random_routes(2, 67, 257, 257);  // no multiple of any number of lanes
  for (const HeightKind kind : {HeightKind::int16, HeightKind::float32}) {
    const Ground ground = ground_of(terrain, kind);
    for (const int points : {2, 3, 4, 20, 129, 500}) {
      for (const double frequency : {41.0, 450.0, 5800.0}) {
        Setting setting;
        setting.frequency_mhz = frequency;
        const Links links{ground, prepare(setting), points};
        for (const Precision precision : kBoth) {
          const auto plain = losses_of(isa_of("plain"), precision, links, routes);
          for (const Isa* const isa : isas_here()) {
            const auto losses = losses_of(*isa, precision, links, routes);
            for (std::size_t i = 0; i < losses.size(); ++i) {
              checks.that(losses[i] == plain[i] && std::isfinite(losses[i]),
                          std::string(isa->name) + " " + name_of(precision) + ": link " + std::to_string(i) + " of " +
                              std::to_string(points) + " points: " + std::to_string(losses[i]) + " and " +
                              std::to_string(plain[i]));
            }
          }
        }
      }
    }
  }
}

/// In any order and number a link has the same loss, bit for bit: what moved is found anew beside others.
void test_neighbours(Checks& checks) {
  const Terrain terrain = synthetic_terrain(4, 257, 30, 300);
  const Ground ground = ground_of(terrain, HeightKind::int16);
  const Links links{ground, prepare({}), 200};
  auto routes = random_routes(8, 90, 257, 257);
  for (const Isa* const isa : isas_here()) {
    for (const Precision precision : kBoth) {
      const auto all = losses_of(*isa, precision, links, routes);
      for (std::size_t i = 0; i < routes.size(); i += 7) {
        checks.that(losses_of(*isa, precision, links, {routes[i]})[0] == all[i], "a link alone");
      }
      const std::vector<Route> turned(routes.rbegin(), routes.rend());
      auto back = losses_of(*isa, precision, links, turned);
      std::reverse(back.begin(), back.end());
      checks.that(back == all, "links in another order");
    }
  }
}

/// What has no loss, between links that have one.
void test_no_loss(Checks& checks) {
  std::vector<std::int16_t> numbers(std::size_t{100} * 100, 20);
  numbers[50 * 100 + 50] = kNoHeight;
  std::vector<float> heights(numbers.begin(), numbers.end());
  heights[50 * 100 + 50] = std::nanf("");
  const Ground whole(numbers, 100, 100, 1, 0), floats(heights, 100, 100);
  const double none = std::nan("");
  std::vector<Route> routes;
  const auto add = [&](double x0, double y0, double x1, double y1) {
    routes.push_back(straight_route(x0, y0, x1, y1, 30, 2));
    routes.push_back(straight_route(5, 7, 90, 20, 30, 2));
  };
  add(10, 10, 10, 10);  // at one place
  add(20, 50, 80, 50);  // through a hole
  add(30, 30, 130, 30);
  add(-1, 30, 50, 30);
  add(30, 30, 30, 99.5);
  add(none, 30, 30, 30);
  for (const double antenna : {0.4, 3001.0, none}) {
    add(10, 10, 60, 20);
    routes[routes.size() - 2].antenna_m[1] = antenna;
  }
  for (const Ground* const ground : {&whole, &floats}) {
    const Links links{*ground, prepare({}), 120};
    for (const Isa* const isa : isas_here()) {
      for (const Precision precision : kBoth) {
        const auto losses = losses_of(*isa, precision, links, routes);
        for (std::size_t i = 0; i < losses.size(); ++i) {
          checks.equal(std::isnan(losses[i]), i % 2 == 0, std::string(isa->name) + ": route " + std::to_string(i));
          checks.that(alike(losses[i], i % 2 == 0 ? std::nanf("") : losses[1]), "its neighbours are as ever");
        }
      }
    }
  }
  checks.that(profile_of(whole, routes[4], 50).empty(), "no profile off the grid");
  checks.that(std::isnan(profile_of(whole, routes[2], 50)[0]), "no heights over a hole");
}

void test_bad_ground(Checks& checks) {
  const std::vector<std::int16_t> numbers(12, 1);
  const std::vector<float> heights(12, 1);
  checks.throws<Error>([&] { Ground(numbers, 3, 5, 1, 0); }, "a count that does not fit");
  checks.throws<Error>([&] { Ground(numbers, 1, 12, 1, 0); }, "one row");
  checks.throws<Error>([&] { Ground(heights, 12, 1); }, "one column");
  checks.throws<Error>([&] { Ground(numbers, 3, 4, 0, 0); }, "a scale of 0");
  checks.throws<Error>([&] { Ground(numbers, 3, 4, std::nan(""), 0); }, "a scale that is no number");
  checks.throws<Error>([&] { Ground(numbers, 3, 4, 1, std::nan("")); }, "an offset that is no number");
}

struct Kind {
  const char* name;
  std::function<double(double x, double y)> height_m;  // of places in steps of a grid of 513
};

/// Kinds of terrain on which ties and exact steps are common, beside those of hills.
std::vector<Kind> kinds() {
  const Terrain hills = synthetic_terrain(31, 513, 30, 700), plain = synthetic_terrain(32, 513, 30, 30);
  const auto of = [](const Terrain& terrain) {
    const std::vector<float> copy(terrain.heights_m().begin(), terrain.heights_m().end());
    return [copy](double x, double y) {
      return static_cast<double>(copy[static_cast<std::size_t>(y) * 513 + static_cast<std::size_t>(x)]);
    };
  };
  return {{"hills", of(hills)},
          {"plain", of(plain)},
          {"high hills", [high = of(hills)](double x, double y) { return 4000 + high(x, y); }},
          {"flat sea", [](double, double) { return 0.0; }},
          {"ramp", [](double x, double y) { return 0.5 * x + y; }},
          {"blocks",
           [](double x, double y) {
             return 40.0 * static_cast<double>((static_cast<int>(x) / 24 * 7 + static_cast<int>(y) / 24 * 3) % 5);
           }},
          {"ridges", [](double x, double y) { return 150 * std::fabs(std::sin(0.05 * x) + std::cos(0.07 * y)); }},
          {"hills in whole metres", [low = of(hills)](double x, double y) { return std::round(low(x, y)); }}};
}

/// Single precision against double: nearly all links within 0.05 dB, on each kind of terrain.
void test_single_precision(Checks& checks, std::size_t links_a_kind) {
  const Isa& isa = *isas_here().front();
  std::size_t all = 0, far = 0;
  double worst = 0;
  for (const Kind& kind : kinds()) {
    std::vector<std::int16_t> numbers;
    for (int y = 0; y < 513; ++y) {
      for (int x = 0; x < 513; ++x) {
        numbers.push_back(static_cast<std::int16_t>(std::lrint(kind.height_m(x, y) * 4)));
      }
    }
    const Ground ground(numbers, 513, 513, 0.25, 0);
    std::size_t here = 0;
    for (const double frequency : {30.0, 450.0, 5000.0}) {
      for (const int points : {101, 500}) {
        Setting setting;
        setting.frequency_mhz = frequency;
        setting.polarization = points == 101 ? Polarization::horizontal : Polarization::vertical;
        const Links links{ground, prepare(setting), points};
        const auto routes = random_routes(static_cast<std::uint64_t>(frequency) + 77, links_a_kind / 6, 513, 513);
        const auto exact = losses_of(isa, Precision::fp64, links, routes);
        const auto single = losses_of(isa, Precision::fp32, links, routes);
        for (std::size_t i = 0; i < routes.size(); ++i) {
          const double off = std::fabs(static_cast<double>(exact[i]) - static_cast<double>(single[i]));
          if (!(off <= 0.05)) ++here;
          worst = std::fmax(worst, off);
          ++all;
        }
      }
    }
    far += here;
    checks.that(here * 250 <= links_a_kind, std::string(kind.name) + ": " + std::to_string(here) + " of " +
                                                std::to_string(links_a_kind) + " links are off by more than 0.05 dB");
  }
  std::printf("single precision: %zu of %zu links are off by more than 0.05 dB, the worst by %.3f dB\n", far, all,
              worst);
  checks.that(far * 1000 <= all, std::to_string(far) + " of " + std::to_string(all) +
                                     " links are off by more than 0.05 dB; the worst by " + std::to_string(worst));
}

}  // namespace
}  // namespace shakedown::radio

/// With a number: so many links of each kind of terrain, in place of 4,000, or of 600 under a sanitizer.
int main(int argc, char** argv) {
  shakedown::Checks checks;
  shakedown::radio::test_profiles(checks);
  shakedown::radio::test_instruction_sets(checks);
  shakedown::radio::test_neighbours(checks);
  shakedown::radio::test_no_loss(checks);
  shakedown::radio::test_bad_ground(checks);
  shakedown::radio::test_single_precision(checks, argc > 1 ? std::stoul(argv[1]) : shakedown::kSanitized ? 600 : 4000);
  return checks.end();
}
