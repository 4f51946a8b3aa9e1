// All pairs of a small network: what is found again after moves is what a new network finds, bit for bit; what is
// reported as a change is what a plain account of all losses says.
#include "network.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/isa.hpp"
#include "coverage.hpp"
#include "explain.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::radio {
namespace {

constexpr int kRounds = kSanitized ? 2 : 8;

constexpr int kRows = 60, kColumns = 80;
constexpr double kStep_deg = 1.0 / 1200;
constexpr Grid kGrid{kRows, kColumns, 47, 11, kStep_deg, kStep_deg};
constexpr AntennaRange kAntennas{0.5, 3000};

std::uint64_t state = 0x9e3779b97f4a7c15ULL;
std::uint64_t random_bits() {  // Marsaglia's xorshift
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
double random_between(double low, double high) {
  return low + (high - low) * static_cast<double>(random_bits() >> 11) * 0x1p-53;
}

/// A file of heights that is gone at the end; some of them not known.
class HeightFile {
 public:
  explicit HeightFile(bool holes) {
    std::vector<std::int16_t> heights;
    for (int at = 0; at < kRows * kColumns; ++at) {
      const int row = at / kColumns, column = at % kColumns;
      heights.push_back(static_cast<std::int16_t>(300 + 200 * std::sin(row * 0.3) * std::cos(column * 0.2)));
    }
    if (holes) heights[30 * kColumns + 40] = kNoHeight;
    const int file = mkstemp(path_.data());
    const std::size_t bytes = heights.size() * sizeof(std::int16_t);
    if (file < 0 || write(file, heights.data(), bytes) != static_cast<ssize_t>(bytes)) throw cannot("no test file");
    close(file);
  }
  ~HeightFile() { std::remove(path()); }
  HeightFile(const HeightFile&) = delete;
  HeightFile& operator=(const HeightFile&) = delete;
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "radio-heights-XXXXXX").string();
};

/// A place on the map, or now and then one that is none.
Station random_station(const Map& map) {
  const double what = random_between(0, 1);
  if (what < 0.03) return map.station(std::nan(""), 11, 2);
  if (what < 0.06) return map.station(48, 11, 2);
  if (what < 0.09) return map.station(46.98, 11.02, -1);
  if (what < 0.12) return map.station(46.98, 11.02, 2);  // several at one place
  return map.station(47 - random_between(0, (kRows - 1) * kStep_deg),
                     11 + random_between(0, (kColumns - 1) * kStep_deg), random_between(0.5, 30));
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

void check_moves(Checks& checks, Team& team, const Finder& finder, std::size_t count, const std::string& what) {
  Network network(team, finder);
  std::vector<Station> all;
  for (std::size_t radio = 0; radio < count; ++radio) all.push_back(random_station(finder.map()));
  network.place(all);
  checks.that(!all.empty(), "somebody moves: " + what);
  if (all.empty()) return;
  bool any = false;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::uint32_t> index;
    std::vector<Station> moved;
    for (std::uint64_t left = random_bits() % 6; left > 0; --left) {  // a radio may move twice
      index.push_back(static_cast<std::uint32_t>(random_bits() % all.size()));
      moved.push_back(random_station(finder.map()));
      all[index.back()] = moved.back();
    }
    network.move(index, moved);
    if (round + 1 < kRounds && random_bits() % 3 == 0) continue;  // moves add up, and are looked at in the end
    Network anew(team, finder);
    anew.place(all);
    checks.that(same_bits(network.losses(), anew.losses()),
                what + ": losses after moves, round " + std::to_string(round));
    for (const float loss : network.losses()) any = any || std::isfinite(loss);
  }
  checks.that(any, what + ": some losses are known");
}

using Account = std::map<std::pair<std::uint32_t, std::uint32_t>, float>;

/// What is to be reported, from all losses and what was reported before.
Account expected_changes(std::span<const float> losses, std::size_t count, float above, float below,
                         Account& reported) {
  Account found;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t j = i + 1; j < count; ++j, ++at) {
      const auto before = reported.find({i, j});
      const bool known = before != reported.end();
      if (losses[at] <= below) {
        if (known && before->second <= below && !(std::fabs(losses[at] - before->second) > above)) continue;
      } else if (!known || !(before->second <= below)) {
        continue;
      }
      found[{i, j}] = reported[{i, j}] = losses[at];
    }
  }
  return found;
}

bool alike(const Pairs& pairs, const Account& account) {
  if (pairs.i.size() != account.size()) return false;
  std::size_t at = 0;
  for (const auto& [link, loss] : account) {  // in order
    if (pairs.i[at] != link.first || pairs.j[at] != link.second) return false;
    if (!same_bits({&pairs.loss_db[at], 1}, {&loss, 1})) return false;
    ++at;
  }
  return true;
}

void check_changes(Checks& checks, Team& team, const Finder& finder) {
  constexpr std::size_t kCount = 30;
  Network network(team, finder);
  std::vector<Station> all;
  for (std::size_t radio = 0; radio < kCount; ++radio) all.push_back(random_station(finder.map()));
  network.place(all);
  Account reported;
  float above = 1, below = 140;
  std::size_t changes = 0;
  for (int round = 0; round < 4 * kRounds; ++round) {
    if (round % 5 == 4) below = static_cast<float>(random_between(100, 180));
    if (round % 7 == 6) above = static_cast<float>(random_between(0, 20));
    const Account expected = expected_changes(network.losses(), kCount, above, below, reported);
    const Pairs found = network.changes(above, below);
    changes += found.i.size();
    checks.that(alike(found, expected), "changes of round " + std::to_string(round));
    checks.that(network.changes(above, below).i.empty(), "nothing is reported twice");
    const std::uint32_t index[] = {static_cast<std::uint32_t>(random_bits() % kCount)};
    const Station moved[] = {random_station(finder.map())};
    network.move(index, moved);
    const Pairs links = network.links(below);
    std::size_t usable = 0;
    for (const float loss : network.losses()) usable += loss <= below ? 1 : 0;
    checks.equal(links.i.size(), usable, "links at most " + std::to_string(below));
  }
  checks.that(changes > 0, "there were changes");
}

/// The losses of the loops against those of single links with all terms.
void check_against_single(Checks& checks, Team& team, const Finder& finder, double within_db, const std::string& what) {
  Network network(team, finder);
  std::vector<Station> all;
  for (std::size_t radio = 0; radio < 20; ++radio) all.push_back(random_station(finder.map()));
  network.place(all);
  const std::span<const float> losses = network.losses();
  Tracing::Scratch scratch;
  double worst = 0;
  int known = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j, ++at) {
      double single = std::nan("");
      if (all[i].standing == Standing::known && all[j].standing == Standing::known) {
        const Route route = finder.map().route(network.station(i), network.station(j));
        auto profile = finder.map().profile(route, points_of(finder.points(), route.length_m));
        if (!finder.model().model->uses_profile) profile = {all[i].ground_m, all[j].ground_m};
        if (!profile.empty())
          single = finder.link(network.station(i), network.station(j), profile, route.length_m, scratch).loss_db;
      }
      checks.equal(std::isnan(losses[at]), std::isnan(single), what + ": whether a loss is known");
      if (std::isnan(single)) continue;
      ++known;
      worst = std::fmax(worst, std::fabs(single - static_cast<double>(losses[at])));
    }
  }
  checks.that(known > 50 && worst <= within_db, what + ": off by " + std::to_string(worst) + " dB");
}

void check_coverage(Checks& checks, Team& team, const Finder& finder) {
  const Picture picture{20, 30, 46.96, 11.0, 47.0, 11.06, 5};
  const Station from = finder.map().station(46.98, 11.03, 10);
  const auto found = coverage(team, finder, from, picture);
  Finder::Scratch scratch;
  const double down = (picture.north_deg - picture.south_deg) / 20, right = (picture.east_deg - picture.west_deg) / 30;
  int known = 0;
  for (std::size_t row = 0; row < picture.rows; ++row) {
    for (std::size_t column = 0; column < picture.columns; ++column) {
      const Station to = finder.map().station(47.0 - (static_cast<double>(row) + 0.5) * down,
                                              11.0 + (static_cast<double>(column) + 0.5) * right, 5);
      const Way ways[] = {{&from, &to}};
      float loss = 0;
      finder.losses(ways, scratch, &loss);
      const float cell = found[row * picture.columns + column];
      known += std::isfinite(cell) ? 1 : 0;
      checks.that(same_bits({&loss, 1}, {&cell, 1}), "a cell of the picture is that of one link");
    }
  }
  checks.that(known > 300, "most of the picture is known");
  checks.throws<Error>([&] { coverage(team, finder, from, {0, 3, 1, 1, 2, 2, 5}); }, "a picture without rows");
  checks.throws<Error>([&] { coverage(team, finder, from, {3, 3, 2, 1, 1, 2, 5}); }, "a picture upside down");
}

void check_points(Checks& checks) {
  const ProfilePoints spaced{0, 30};
  int before = 0;
  for (int i = 0; i < 1319; ++i) {  // to 498 km
    const double length = std::pow(1.01, i);
    const int points = points_of(spaced, length);
    checks.that(points >= 9 && length / (points - 1) <= 30, "no step is longer than asked");
    checks.that(points - 1 <= std::fmax(8, 1.13 * length / 30 + 1), "not many more points than needed");
    checks.that(points >= before, "longer paths have no fewer points");
    before = points;
  }
  checks.equal(points_of({77, 0}, 1e5), 77, "a fixed number");
}

void check_map(Checks& checks, const Map& map) {
  const auto standing = [&](double latitude, double longitude, double height) {
    return map.station(latitude, longitude, height).standing;
  };
  const double south = 47 - (kRows - 1) * kStep_deg, east = 11 + (kColumns - 1) * kStep_deg;
  for (const double turn : {-720.0, -360.0, 0.0, 360.0}) {
    checks.that(standing(47, 11 + turn, 2) == Standing::known, "the north-west corner");
    checks.that(standing(south, east + turn, 2) == Standing::known, "the south-east corner");
  }
  checks.that(standing(47.0001, 11.01, 2) == Standing::off_map, "north of the map");
  checks.that(standing(south - 1e-6, 11.01, 2) == Standing::off_map, "south of the map");
  checks.that(standing(46.99, 10.9999, 2) == Standing::off_map, "west of the map");
  checks.that(standing(46.99, east + 1e-6, 2) == Standing::off_map, "east of the map");
  checks.that(standing(46.99, 11.01, 0.4) == Standing::height, "too low");
  checks.that(standing(46.99, 11.01, 3001) == Standing::height, "too high");
  checks.that(standing(46.99, 11.01, std::nan("")) == Standing::not_finite, "not a number");
  checks.that(standing(47 - 30.5 * kStep_deg, 11 + 40.5 * kStep_deg, 2) == Standing::over_hole, "beside a hole");
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  using namespace shakedown;
  using namespace shakedown::radio;
  Checks checks;
  Team team(choose_cpus(2, ""));
  const HeightFile file(true);
  const Map map(file.path(), kGrid, HeightKind::int16, 1, 0, kAntennas);
  check_map(checks, map);
  check_points(checks);
  const PreparedModel itm = prepare_model("itm", ModelSetting{});
  for (const Isa* const isa : isas_here()) {
    for (const Precision precision : {Precision::fp64, Precision::fp32}) {
      const std::string what = std::string(isa->name) + (precision == Precision::fp64 ? " fp64" : " fp32");
      const Finder fixed(map, *isa, precision, itm, {50, 0}), spaced(map, *isa, precision, itm, {0, 100});
      check_moves(checks, team, fixed, 37, what);
      check_moves(checks, team, spaced, 20, what + ", by spacing");
      check_against_single(checks, team, spaced, precision == Precision::fp64 ? 1e-4 : 0.5, what);
    }
  }
  const Isa& isa = *isas_here().front();
  for (const char* const name : {"itm+gas", "free_space", "bullington", "log_distance", "two_ray+woodland"}) {
    ModelSetting setting;
    setting.shadowing_db = 6;
    setting.wood_depth_m = 50;
    const PreparedModel model = prepare_model(name, setting);
    const Finder finder(map, isa, Precision::fp64, model, {0, 100});
    check_moves(checks, team, finder, 20, name);
    check_against_single(checks, team, finder, 1e-4, name);
  }
  const Finder finder(map, isa, Precision::fp64, itm, {60, 0});
  check_changes(checks, team, finder);
  check_coverage(checks, team, finder);
  checks.throws<Error>([&] { Finder(map, isa, Precision::fp64, itm, {0, 0.1}); }, "a spacing of millions of points");
  checks.throws<Error>([&] { Map("/nowhere", kGrid, HeightKind::int16, 1, 0, kAntennas); }, "no file");
  checks.throws<Error>([&] { Map(file.path(), kGrid, HeightKind::float32, 1, 0, kAntennas); },
                       "a file of another size");
  return checks.end();
}
