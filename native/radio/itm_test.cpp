// What must be true of the model: NTIA's own cases, the outputs of its unmodified version 1.4 on made profiles with
// every error and warning, and reciprocity.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "loops.hpp"
#include "terrain.hpp"
#include "testing/check.hpp"

namespace shakedown::radio {
namespace {

struct Row {
  const std::map<std::string, std::size_t>& columns;
  std::vector<double> cells;
  double operator()(const std::string& name) const { return cells.at(columns.at(name)); }
  [[nodiscard]] int whole(const std::string& name) const { return static_cast<int>((*this)(name)); }
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  std::stringstream text(line);
  for (std::string word; std::getline(text, word, ',');) {
    while (!word.empty() && word.back() == '\r') word.pop_back();
    words.push_back(word);
  }
  return words;
}

std::vector<double> numbers(const std::string& line) {
  std::vector<double> cells;
  for (const auto& word : split(line)) cells.push_back(word.empty() ? std::nan("") : std::stod(word));
  return cells;
}

std::vector<std::vector<double>> lines_of(const std::string& name) {
  std::ifstream file(std::string(VECTORS) + "/" + name);
  std::vector<std::vector<double>> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(numbers(line));
  return lines;
}

struct Table {
  std::map<std::string, std::size_t> columns;
  std::vector<Row> rows;
  explicit Table(const std::string& name) {
    std::ifstream file(std::string(VECTORS) + "/" + name);
    std::string line;
    std::getline(file, line);
    for (const auto& word : split(line)) columns.emplace(word, columns.size());
    while (std::getline(file, line)) rows.push_back({columns, numbers(line)});
  }
};

Setting setting_of(const Row& row) {
  Setting setting;
  setting.frequency_mhz = row("f__mhz");
  setting.polarization = static_cast<Polarization>(row.whole("pol"));
  setting.permittivity = row("epsilon");
  setting.conductivity_s_per_m = row("sigma");
  setting.climate = row.whole("climate");
  setting.refractivity_n = row("N_0");
  setting.variability_mode = row.whole("mdvar");
  setting.time_percent = row("time");
  setting.location_percent = row("location");
  setting.situation_percent = row("situation");
  return setting;
}

/// The reference's return value: an error, 1 with a warning, else 0.
int code_of(const ItmResult& result) {
  if (result.error != ItmError::none) return static_cast<int>(result.error);
  return result.warnings != 0 ? 1 : 0;
}

ItmResult over(const Row& row, const std::vector<double>& profile) {
  const std::vector<double> heights(profile.begin() + 2, profile.begin() + 3 + static_cast<std::ptrdiff_t>(profile[0]));
  return point_to_point(setting_of(row), row("h_tx__meter"), row("h_rx__meter"), heights, profile[1]);
}

AreaPath area_path(const Row& row) {
  return {row("h_tx__meter"),
          row("h_rx__meter"),
          row("d__km"),
          row("delta_h__meter"),
          row.whole("tx_siting_criteria"),
          row.whole("rx_siting_criteria")};
}

void near(Checks& checks, double found, double expected, double limit, const std::string& what) {
  checks.that(std::fabs(found - expected) <= limit,
              what + ": found " + std::to_string(found) + ", expected " + std::to_string(expected));
}

void test_published(Checks& checks) {
  const Table paths("p2p.csv"), areas("area.csv");
  const auto profiles = lines_of("pfls.csv");
  checks.equal(paths.rows.size(), std::size_t{3}, "NTIA's paths");
  for (std::size_t i = 0; i < paths.rows.size(); ++i) {
    near(checks, over(paths.rows[i], profiles[i]).loss_db, paths.rows[i]("A__db"), 0.00501,
         "path " + std::to_string(i));
  }
  checks.equal(areas.rows.size(), std::size_t{3}, "NTIA's areas");
  for (const Row& row : areas.rows) {
    near(checks, area(setting_of(row), area_path(row)).loss_db, row("A__db"), 0.0501, "area");
  }
}

/// All steps of all paths. Rows where the reference itself turns on the last bits of its input are held to its spread.
void test_reference(Checks& checks) {
  const Table table("oracle_p2p.csv");
  const auto profiles = lines_of("oracle_pfls.csv");
  checks.that(table.rows.size() > 1000, "rows of paths");
  for (const Row& row : table.rows) {
    const ItmResult result = over(row, profiles.at(static_cast<std::size_t>(row.whole("profile_idx"))));
    const std::string name = "row " + std::to_string(row.whole("row"));
    checks.equal(code_of(result), row.whole("rc"), name + ": code");
    checks.equal(static_cast<int>(result.warnings), row.whole("warnings"), name + ": warnings");
    if (row.whole("rc") > 1) continue;
    near(checks, result.loss_db, row("A__db"), 1e-6 + row("ambiguous_db"), name + ": loss");
    if (row("ambiguous_db") > 1e-6) continue;
    checks.equal(static_cast<int>(result.mode), row.whole("mode"), name + ": mode");
    near(checks, result.reference_db, row("A_ref__db"), 1e-6, name + ": reference");
    near(checks, result.free_space_db, row("A_fs__db"), 1e-6, name + ": free space");
    near(checks, result.horizon_rad[0], row("theta_hzn_tx"), 1e-9, name + ": horizon of the transmitter");
    near(checks, result.horizon_rad[1], row("theta_hzn_rx"), 1e-9, name + ": horizon of the receiver");
    near(checks, result.horizon_m[0], row("d_hzn_tx__meter"), 1e-4, name + ": distance to it");
    near(checks, result.effective_height_m[1], row("h_e_rx__meter"), 1e-6, name + ": effective height");
    near(checks, result.delta_h_m, row("delta_h__meter"), 1e-6, name + ": terrain irregularity");
    near(checks, result.surface_refractivity_n, row("N_s"), 1e-6, name + ": refractivity");
  }
  const Table areas("oracle_area.csv");
  checks.that(areas.rows.size() > 500, "rows of areas");
  for (const Row& row : areas.rows) {
    const ItmResult result = area(setting_of(row), area_path(row));
    const std::string name = "area " + std::to_string(row.whole("row"));
    checks.equal(code_of(result), row.whole("rc"), name + ": code");
    checks.equal(static_cast<int>(result.warnings), row.whole("warnings"), name + ": warnings");
    near(checks, result.loss_db, row("A__db"), 1e-6, name + ": loss");
    checks.equal(static_cast<int>(result.mode), row.whole("mode"), name + ": mode");
  }
}

void test_errors(Checks& checks) {
  const Table table("oracle_errors.csv");
  checks.that(table.rows.size() > 30, "rows of errors");
  for (const Row& row : table.rows) {
    const std::vector<double> flat(50, row("terrain_level__meter"));
    const ItmResult result = point_to_point(setting_of(row), row("h_tx__meter"), row("h_rx__meter"), flat, 100);
    checks.equal(code_of(result), row.whole("rc"), "code");
    checks.equal(static_cast<int>(result.warnings), row.whole("warnings"), "warnings");
    checks.equal(std::isnan(result.loss_db), row.whole("rc") > 1, "a loss where there is no error, and only there");
  }
  const std::vector<double> flat(50, 100.0);
  const auto by_confidence = [&](double confidence, double reliability) {
    return point_to_point_confidence({}, confidence, reliability, 10, 3, flat, 100).error;
  };
  checks.equal(static_cast<int>(by_confidence(0, 50)), 1006, "confidence");
  checks.equal(static_cast<int>(by_confidence(50, 100)), 1007, "reliability");
  checks.equal(static_cast<int>(area_confidence({}, 100, 50, {10, 3, 10, 90}).error), 1006, "confidence of an area");
  AreaPath path{10, 3, 10, 90};
  path.distance_km = 0;
  checks.equal(static_cast<int>(area({}, path).error), 1017, "distance of an area");
  path = {10, 3, 10, -1};
  checks.equal(static_cast<int>(area({}, path).error), 1018, "irregularity of an area");
  path = {10, 3, 10, 90, 3, 0};
  checks.equal(static_cast<int>(area({}, path).error), 1019, "siting of the transmitter");
  path = {10, 3, 10, 90, 0, -1};
  checks.equal(static_cast<int>(area({}, path).error), 1020, "siting of the receiver");
  checks.throws<Error>([&] { point_to_point({}, 10, 3, std::vector<double>{100.0}, 100); }, "one height");
  checks.throws<Error>([&] { point_to_point({}, 10, 3, flat, 0); }, "a step of 0 m");
  checks.throws<Error>([&] { point_to_point({}, 10, 3, std::vector<double>{1, std::nan(""), 2}, 100); }, "no number");
  for (int bit = 0; bit < 15; ++bit) {
    checks.that(
        words_of(static_cast<ItmWarning>(1U << static_cast<unsigned>(bit))).find("unknown") == std::string::npos,
        "words of warning " + std::to_string(bit));
  }
  for (int code = 1000; code <= 1022; ++code) {
    checks.equal(words_of(static_cast<ItmError>(code)).find("unknown") == std::string::npos, code != 1015,
                 "words of error " + std::to_string(code));
  }
}

void test_reciprocity(Checks& checks) {
  const Terrain terrain = synthetic_terrain(5, 513, 30, 400);
  const Ground ground = ground_of(terrain, HeightKind::float32);
  const Radios radios = random_radios(9, 40, terrain);
  int far = 0, all = 0;
  for (std::size_t from = 0; from < radios.count(); ++from) {
    for (std::size_t to = from + 1; to < radios.count(); ++to) {
      const Route route = route_of(radios, terrain, from, to, 2);
      const std::vector<double> there = profile_of(ground, route, 300);
      const double step = route.length_m / 299;
      const std::vector<double> back(there.rbegin(), there.rend());
      const double out = point_to_point({}, 2, 10, there, step).loss_db,
                   in = point_to_point({}, 10, 2, back, step).loss_db;
      ++all;
      if (std::fabs(out - in) > 0.01) ++far;
    }
  }
  // Ranges are counted in whole steps from the transmitter: some paths see the difference (2.5 % of the
  // reference's own; more where horizons lie on crossings of a grid).
  checks.that(far * 8 < all, std::to_string(far) + " of " + std::to_string(all) + " paths differ from their way back");
}

void test_terrain(Checks& checks) {
  const Terrain one = synthetic_terrain(1, 65, 30, 200), same = synthetic_terrain(1, 65, 30, 200);
  const Terrain other = synthetic_terrain(2, 65, 30, 200);
  const auto heights = one.heights_m();
  checks.that(std::ranges::equal(heights, same.heights_m()), "a seed is a terrain");
  checks.that(!std::ranges::equal(heights, other.heights_m()), "another seed is another");
  const auto [low, high] = std::minmax_element(heights.begin(), heights.end());
  checks.that(*low == 0 && std::fabs(*high - 200) < 1e-3F, "from 0 to the relief");
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  shakedown::Checks checks;
  shakedown::radio::test_published(checks);
  shakedown::radio::test_reference(checks);
  shakedown::radio::test_errors(checks);
  shakedown::radio::test_reciprocity(checks);
  shakedown::radio::test_terrain(checks);
  return checks.end();
}
