// The fast tracer and the slow one find the same paths, with the same gains, in towns at random: 12 of them, or as many
// as the argument says.
#include <random>
#include <string>

#include "exact_tracer.hpp"
#include "testing/check.hpp"

namespace shakedown::radio::rays {
namespace {

using Random = std::mt19937_64;

double between(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// A box, an L or a box with a courtyard, turned, somewhere in a square of 200 m.
Building building_at_random(Random& random) {
  const double wide = between(random, 8, 40), deep = between(random, 8, 40), turn = between(random, 0, 6.3);
  const Point middle{between(random, 0, 200), between(random, 0, 200)};
  std::vector<std::vector<Point>> rings{{{0, 0}, {wide, 0}, {wide, deep}, {0, deep}}};
  const double kind = between(random, 0, 1);
  if (kind < 0.3) rings[0] = {{0, 0}, {wide, 0}, {wide, deep / 3}, {wide / 3, deep / 2.5}, {wide / 3, deep}, {0, deep}};
  if (kind > 0.8) rings.push_back({{2, 2}, {wide - 2, 2}, {wide - 3, deep - 2}, {3, deep - 2}});
  for (auto& ring : rings) {
    for (Point& at : ring) {
      at = middle + Point{at.x * std::cos(turn) - at.y * std::sin(turn), at.x * std::sin(turn) + at.y * std::cos(turn)};
    }
    if (between(random, 0, 1) < 0.5) std::reverse(ring.begin(), ring.end());
  }
  return {rings, between(random, 0, 3), between(random, 3, 30)};
}

/// A grid of streets where houses touch, some with one facade, some not.
std::vector<Building> terraces(Random& random) {
  std::vector<Building> buildings;
  for (int row = 0; row < 3; ++row) {
    double x = 0;
    for (int house = 0; house < 4; ++house) {
      const double wide = between(random, 8, 20), begin = row * 40 + (house % 2 == 0 ? 0.0 : between(random, 0, 2));
      buildings.push_back({{{{x, begin}, {x + wide, begin}, {x + wide, row * 40 + 12.0}, {x, row * 40 + 12.0}}},
                           0,
                           between(random, 5, 20)});
      x += wide;
    }
  }
  return buildings;
}

Spot spot_at_random(Random& random, const Town& town) {
  for (;;) {
    Spot spot{{between(random, -20, 220), between(random, -20, 220)}, between(random, 0, 2), 0};
    spot.height_m = between(random, 0, 1) < 0.6 ? between(random, 0.5, 3) : between(random, 3, 45);
    if (spot.z() >= town.top_over_m(spot.at)) return spot;
  }
}

struct Found {
  int paths = 0, kinds[4] = {0, 0, 0, 0}, twice = 0, with_corner = 0;
};

void compare(Checks& checks, const std::vector<Building>& buildings, const RaySetting& setting, Random& random,
             int links, const std::string& name, Found& found) {
  const Town town(buildings);
  const PreparedRays prepared = prepare(setting);
  exact::Tracer slow(buildings, town, prepared);
  SeeScratch see_scratch;
  TraceScratch scratch;
  Trace fast;
  View from, to;
  for (int link = 0; link < links; ++link) {
    see(town, prepared, spot_at_random(random, town), from, see_scratch);
    see(town, prepared, spot_at_random(random, town), to, see_scratch);
    trace(town, prepared, from, to, scratch, fast);
    auto expected = slow.trace(from.spot, to.spot);
    const std::string what = name + ", link " + std::to_string(link);
    Complex field = 0;
    double power = 0;
    for (const auto& [key, gain] : expected) {
      field += gain;
      power += std::norm(gain);
    }
    for (const Path& path : fast.paths) {
      const auto same = expected.find(exact::key_of(path));
      const std::string which = what + ", path of kind " + std::to_string(static_cast<int>(path.kind)) +
                                (path.ground ? " by the ground" : "") + " over " + std::to_string(path.walls[0]) +
                                ", " + std::to_string(path.walls[1]) + ", corner " + std::to_string(path.corner);
      checks.that(same != expected.end(), which + " is one");
      if (same == expected.end()) continue;
      checks.that(std::abs(same->second - path.gain) <= 1e-6 * std::abs(path.gain), which + " has its gain");
      expected.erase(same);
      ++found.paths;
      ++found.kinds[static_cast<int>(path.kind)];
      found.twice += path.kind == PathKind::reflected && path.walls[1] != Path::kNone ? 1 : 0;
      found.with_corner +=
          path.corner != Path::kNone && (path.walls[0] != Path::kNone || path.walls[1] != Path::kNone) ? 1 : 0;
    }
    for (const auto& [key, gain] : expected) {
      checks.that(false, what + ": not found, of kind " + std::to_string(static_cast<int>(std::get<0>(key))) +
                             (std::get<1>(key) ? " by the ground" : "") + " over " + std::to_string(std::get<2>(key)) +
                             ", " + std::to_string(std::get<3>(key)) + ", corner " + std::to_string(std::get<4>(key)));
    }
    checks.that(std::fabs(fast.power_db + 10 * std::log10(power)) < 0.01, what + ": sum of powers");
    checks.that(std::fabs(fast.coherent_db + 20 * std::log10(std::abs(field))) < 0.01, what + ": sum of fields");
  }
}

void test_towns(Checks& checks, std::uint64_t last_seed) {
  Found found;
  for (std::uint64_t seed = 1; seed <= last_seed; ++seed) {
    Random random(seed);
    std::vector<Building> buildings;
    const std::size_t count = 3 + seed % 8;
    buildings.reserve(count);
    for (std::size_t i = 0; i < count; ++i) buildings.push_back(building_at_random(random));
    if (seed % 6 == 0) buildings = terraces(random);
    RaySetting setting;
    setting.frequency_mhz = between(random, 100, 5000);
    setting.polarization = seed % 2 == 0 ? Polarization::vertical : Polarization::horizontal;
    setting.walls = seed % 3 == 0 ? WallMaterial::brick : WallMaterial::concrete;
    if (seed % 12 == 7) setting.reflections = 1;
    if (seed % 12 == 8) setting.ground_reflection = false;
    compare(checks, buildings, setting, random, 30, "seed " + std::to_string(seed), found);
  }
  for (int kind = 0; kind < 4; ++kind) {
    checks.that(found.kinds[kind] > 100, "paths of kind " + std::to_string(kind) + " were among them");
  }
  checks.that(found.twice > 30 && found.with_corner > 1000, "paths of two walls, and of a wall and a corner");
  std::fprintf(
      stderr, "%d paths: %d direct, %d reflected (%d twice), %d round corners (%d with a wall), %d over roofs\n",
      found.paths, found.kinds[0], found.kinds[1], found.twice, found.kinds[2], found.with_corner, found.kinds[3]);
}

}  // namespace
}  // namespace shakedown::radio::rays

int main(int argc, char** argv) {
  shakedown::Checks checks;
  shakedown::radio::rays::test_towns(checks, argc > 1 ? std::stoul(argv[1]) : 12);
  return checks.end();
}
