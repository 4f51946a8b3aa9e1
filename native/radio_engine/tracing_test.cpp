// Rays between radios on a map: what was found for one link alone, for all of them, and after moves is the same, bit
// for bit; a radio in a building is said to be there.
#include "tracing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/isa.hpp"
#include "coverage.hpp"
#include "explain.hpp"
#include "network.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::radio {
namespace {

constexpr int kSide = kSanitized ? 3 : 6, kStations = kSanitized ? 8 : 24;
constexpr double kStep_deg = 1.0 / 3600, kNorth_deg = 47, kWest_deg = 11;
constexpr double kEast_m_per_deg = 76'057, kNorth_m_per_deg = 111'170;
constexpr int kRows = 20, kColumns = 30;
constexpr Grid kGrid{kRows, kColumns, kNorth_deg, kWest_deg, kStep_deg, kStep_deg};
constexpr double kGround_m = 100;

/// The files of a map and of a town in its middle; they are gone at the end.
struct Files {
  std::string heights = "radio-tracing-test-heights.bin", town = "radio-tracing-test-town.txt";
  Files() {
    const std::vector<std::int16_t> flat(std::size_t{kRows} * kColumns, static_cast<std::int16_t>(kGround_m));
    std::ofstream(heights, std::ios::binary)
        .write(reinterpret_cast<const char*>(flat.data()), static_cast<std::streamsize>(2 * flat.size()));
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> part(0, 1);
    std::ofstream file(town);
    file.precision(17);
    file << "town " << kNorth_deg - 0.0025 << " " << kWest_deg + 0.004 << " " << kEast_m_per_deg << " "
         << kNorth_m_per_deg << " " << kSide * kSide << "\n";
    for (int i = 0; i < kSide * kSide; ++i) {
      const int column = i % kSide, row = i / kSide;
      const double x = (column - kSide / 2.0) * 40, y = (row - kSide / 2.0) * 40, size = 20 + 6 * part(random);
      file << "building " << kGround_m << " " << 6 + 18 * part(random) << " 1\nring 4 " << x << " " << y << " "
           << x + size << " " << y << " " << x + size << " " << y + size << " " << x << " " << y + size << "\n";
    }
  }
  ~Files() {
    std::remove(heights.c_str());
    std::remove(town.c_str());
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
};

/// All that answers for a model of rays, over the files.
struct Scene {
  Files files;
  PreparedModel model;
  Map map;
  Tracing tracing;
  Finder finder;
  explicit Scene(const char* name, const ModelSetting& setting)
      : model(prepare_model(name, setting)),
        map(files.heights, kGrid, HeightKind::int16, 1, 0, {0.1, 10e3}),
        tracing(files.town, setting),
        finder(map, *isas_here().front(), Precision::fp64, model, {20, 0}, &tracing) {}
};

ModelSetting setting_at(double frequency_mhz) {
  ModelSetting setting;
  setting.radio.frequency_mhz = frequency_mhz;
  return setting;
}

/// A place among the houses, at times high above them or off the map.
Station random_station(const Scene& scene, std::mt19937_64& random) {
  std::uniform_real_distribution<double> part(0, 1);
  const double side_m = kSide * 40 + 40;
  const double latitude = kNorth_deg - 0.0025 + (part(random) - 0.5) * side_m / kNorth_m_per_deg;
  const double longitude = kWest_deg + 0.004 + (part(random) - 0.5) * side_m / kEast_m_per_deg;
  const double what = part(random);
  return scene.finder.station(what < 0.03 ? 48 : latitude, longitude, what > 0.8 ? 30 : 1.5);
}

std::vector<Station> random_stations(const Scene& scene, std::mt19937_64& random, int count) {
  std::vector<Station> found;
  found.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) found.push_back(random_station(scene, random));
  return found;
}

bool same(const rays::Trace& one, const rays::Trace& other) {
  if (one.paths.size() != other.paths.size() || one.stops.size() != other.stops.size()) return false;
  for (std::size_t i = 0; i < one.paths.size(); ++i) {
    if (one.paths[i].gain != other.paths[i].gain || one.paths[i].walls != other.paths[i].walls) return false;
  }
  return std::bit_cast<std::uint64_t>(one.loss_db) == std::bit_cast<std::uint64_t>(other.loss_db);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// A view for one link finds what a whole view finds, for all orders of reflections.
void test_light_views(Checks& checks) {
  std::mt19937_64 random(1);
  std::size_t paths = 0;
  for (int orders = 0; orders < 8; ++orders) {
    ModelSetting setting = setting_at(1900);
    setting.ray_tracing.reflections = orders % 4 == 3 ? 2 : orders % 4;
    setting.ray_tracing.corner_reflections = orders < 4 ? 1 : 0;
    setting.ray_tracing.corners = orders != 5;
    const Scene scene("rays", setting);
    Tracing::Scratch scratch, other;
    std::vector<Station> all = random_stations(scene, random, kStations);
    for (Station& from : all) {
      from.view = scene.tracing.view(from, scratch);
      for (Station to : all) {
        to.view = scene.tracing.view(to, scratch);
        const rays::Trace& whole = scene.tracing.trace(from, to, scratch);
        to.view = nullptr;
        checks.that(same(whole, scene.tracing.trace(from, to, other)), "a light view finds the same paths");
        paths += whole.paths.size();
      }
    }
  }
  checks.that(paths > 1000, "there were paths");
}

void test_moves(Checks& checks) {
  const Scene scene("rays", setting_at(2400));
  std::mt19937_64 random(2);
  Team one(choose_cpus(1, "")), three({allowed_cpus()[0], allowed_cpus()[0], allowed_cpus()[0]});
  Network network(three, scene.finder);
  std::vector<Station> all = random_stations(scene, random, kStations);
  network.place(all);
  int known = 0;
  for (int round = 0; round < 6; ++round) {
    Network anew(one, scene.finder);
    anew.place(all);
    checks.that(same_bits(network.losses(), anew.losses()), "losses after moves, whatever the threads");
    for (const float loss : network.losses()) known += std::isfinite(loss) ? 1 : 0;
    for (const Station& station : all) {
      if (station.standing == Standing::inside) checks.that(station.view == nullptr, "nothing is seen from inside");
    }
    const auto radio = static_cast<std::uint32_t>(random() % all.size());
    all[radio] = random_station(scene, random);
    network.move(std::vector{radio}, std::vector{all[radio]});
  }
  checks.that(known > 50, "some losses are known");
}

/// One link by itself, and a cell of a picture, are what the network found.
void test_explain_and_coverage(Checks& checks) {
  const Scene scene("rays", setting_at(1900)), gas("rays+gas", setting_at(60'000)), bare("rays", setting_at(60'000));
  std::mt19937_64 random(3);
  Team team(choose_cpus(2, ""));
  std::vector<Station> all = random_stations(scene, random, kStations);
  const Picture picture{1, 1, 46.9974, 11.0039, 46.9976, 11.0041, 1.5};
  all[0] = scene.finder.station(46.998, 11.005, 1.5);
  all[1] = scene.finder.station(46.9975, 11.004, 1.5);
  Network network(team, scene.finder);
  network.place(all);
  const std::span<const float> losses = network.losses();
  checks.that(all[0].standing == Standing::known, "in a street");
  if (all[1].standing == Standing::known) {
    checks.that(same_bits(coverage(team, scene.finder, all[0], picture), losses.first(1)), "a picture's cell");
  }
  Tracing::Scratch scratch;
  int explained = 0;
  for (std::size_t to = 1; to < all.size(); ++to) {
    if (all[to].standing != Standing::known) continue;
    const std::string said = to_json(explain(scene.finder, all[0], all[to]));
    const PathLoss loss = scene.finder.link(all[0], all[to], std::vector{kGround_m, kGround_m}, 100, scratch);
    checks.that(static_cast<float>(loss.loss_db) == losses[to - 1], "a link alone");
    checks.that(
        said.find("\"paths\":[{\"kind\":") != std::string::npos && said.find("\"rings\":[[[") != std::string::npos,
        "paths and buildings are said");
    const double wet = gas.finder.link(all[0], all[to], std::vector{kGround_m, kGround_m}, 500, scratch).loss_db;
    const double dry = bare.finder.link(all[0], all[to], std::vector{kGround_m, kGround_m}, 500, scratch).loss_db;
    checks.that(wet > dry + 1, "oxygen at 60 GHz is added");
    ++explained;
  }
  checks.that(explained > 2, "some links were explained");
}

void test_standings(Checks& checks) {
  const Scene scene("rays", setting_at(1900));
  const auto standing = [&](double east_m, double north_m, double height_m) {
    return scene.finder
        .station(kNorth_deg - 0.0025 + north_m / kNorth_m_per_deg, kWest_deg + 0.004 + east_m / kEast_m_per_deg,
                 height_m)
        .standing;
  };
  const double corner = (0 - kSide / 2.0) * 40;
  checks.that(standing(corner + 5, corner + 5, 1.5) == Standing::inside, "in a house");
  checks.that(standing(corner + 5, corner + 5, 25) == Standing::known, "on its roof");
  checks.that(standing(corner - 5, corner + 5, 1.5) == Standing::known, "before it");
  checks.that(standing(corner, corner + 5, 1.5) == Standing::known, "on its wall");
  checks.that(standing(corner - 5, corner + 5, 0.01) == Standing::height, "too low");
  checks.that(standing(1e6, 0, 1.5) == Standing::off_map, "off the map");
  const Station inside = scene.finder.station(kNorth_deg - 0.0025 + (corner + 5) / kNorth_m_per_deg,
                                              kWest_deg + 0.004 + (corner + 5) / kEast_m_per_deg, 1.5);
  const Station street = scene.finder.station(46.998, 11.005, 1.5);
  checks.throws<Error>([&] { explain(scene.finder, inside, street); }, "a radio in a house has no loss to explain");
}

/// What the views of many radios will take is asked for by those of some, spread over all.
void test_memory_of_views(Checks& checks) {
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0U);
  checks.equal(bring_forward(all, 64), std::size_t{64}, "so many are tried");
  checks.that(std::ranges::any_of(std::span(all).first(64), [](std::uint32_t one) { return one > 900; }),
              "from the end too");
  std::ranges::sort(all);
  for (std::uint32_t k = 0; k < all.size(); ++k) checks.equal(all[k], k, "each stands there once");
  std::vector<std::uint32_t> few{3, 1, 2};
  checks.equal(bring_forward(few, 64), std::size_t{3}, "of few all are tried");
  checks.that(few == std::vector<std::uint32_t>{3, 1, 2}, "as they stood");
  checks.equal(views_bytes(64'000, 64, 5000, 0), std::uint64_t{5'000'000}, "by their mean");
  checks.equal(views_bytes(64'000, 64, 5000, 4'000'000), std::uint64_t{1'000'000}, "less what they take the place of");
  checks.equal(views_bytes(64'000, 64, 5000, 9'000'000), std::uint64_t{0}, "which may be more");
  checks.equal(views_bytes(0, 0, 0, 0), std::uint64_t{0}, "of none nothing");
  const Scene scene("rays", setting_at(1900));
  Tracing::Scratch scratch;
  const Station street = scene.finder.station(46.998, 11.005, 1.5);
  const auto view = scene.finder.tracing()->view(street, scratch);
  const std::uint64_t least = view->walls.size() * sizeof view->walls[0] + view->arms.size() * sizeof view->arms[0];
  checks.that(bytes_of(*view) > least && least > 0, "a view counts its walls and arms");
  checks.that(view->walls.capacity() == view->walls.size(), "and holds no more than they need");
}

void test_refusals(Checks& checks) {
  const Files files;
  checks.throws<Error>([&] { Tracing("/nowhere", setting_at(1900)); }, "no file");
  checks.throws<Error>([&] { Tracing(files.heights, setting_at(1900)); }, "no town");
  checks.throws<Error>([&] { Tracing(files.town, setting_at(5)); }, "5 MHz");
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  shakedown::Checks checks;
  shakedown::radio::test_light_views(checks);
  shakedown::radio::test_moves(checks);
  shakedown::radio::test_explain_and_coverage(checks);
  shakedown::radio::test_standings(checks);
  shakedown::radio::test_memory_of_views(checks);
  shakedown::radio::test_refusals(checks);
  return checks.end();
}
