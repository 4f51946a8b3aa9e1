#include "course.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.hpp"
#include "common/memory.hpp"

namespace shakedown::radio {
namespace {

constexpr std::size_t kChecked = 200;  // links of a case

std::vector<Precision> precisions_of(const std::vector<std::string>& words) {
  std::vector<Precision> precisions;
  for (const auto& one : words) {
    if (one != "fp64" && one != "fp32") throw usage("--precision '" + one + "' is not known", "fp64 or fp32");
    precisions.push_back(one == "fp64" ? Precision::fp64 : Precision::fp32);
  }
  return precisions;
}

void require_at_most(const char* name, const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t kMost = 100'000;
  for (const auto n : numbers) {
    if (n > kMost) throw usage(std::string(name) + " " + std::to_string(n) + " is above 100000", "ask for fewer");
  }
}

/// Losses spread over all pairs against those of point_to_point, one by one: the differences, largest first. Empty
/// where a loss is not a number.
std::vector<double> differences_db(const Course& course, const Ask& ask, const Ground& ground, const Radios& radios,
                                   const std::vector<float>& loss_db) {
  for (const float loss : loss_db) {
    if (!std::isfinite(loss)) return {};
  }
  std::vector<double> differences;
  const std::size_t count = radios.count(), stride = std::max<std::size_t>(1, loss_db.size() / kChecked);
  std::size_t from = 0;
  for (std::size_t link = 0; link < loss_db.size(); link += stride) {
    while (row_begin(from + 1, count) <= link) ++from;
    const std::size_t to = link - row_begin(from, count) + from + 1;
    const Route route =
        straight_route(radios.x[from], radios.y[from], radios.x[to], radios.y[to], course.step_m, course.antenna_m);
    const std::vector<double> profile = profile_of(ground, route, static_cast<int>(ask.points));
    const ItmResult result = point_to_point(course.setting, course.antenna_m, course.antenna_m, profile,
                                            route.length_m / static_cast<double>(ask.points - 1));
    differences.push_back(std::fabs(result.loss_db - static_cast<double>(loss_db[link])));
  }
  std::sort(differences.rbegin(), differences.rend());
  return differences;
}

}  // namespace

Course read_course(Args& args, const std::string& radios, const std::string& precision) {
  Course c;
  c.radios = args.integers("radios", radios, 2, "numbers of radios, in turn");
  c.points = args.integers("points", "500", 2, "points of each profile, in turn");
  c.moved = args.integers("moved", "0", 0, "radios that move before each sample, in turn; 0: all links again");
  c.precisions = precisions_of(args.words("precision", precision, "fp64, fp32 or both, in turn"));
  const std::string heights = args.text("heights", "int16", "of the terrain in memory: int16 or float32");
  c.setting.frequency_mhz = args.real("frequency-mhz", c.setting.frequency_mhz, 20, "of the radios, to 20000");
  const std::string polarization = args.text("polarization", "vertical", "vertical or horizontal");
  c.setting.climate = static_cast<int>(args.integer("climate", c.setting.climate, 1, "1 equatorial to 7 over sea", 7));
  c.antenna_m = args.real("antenna-m", 2, 0.5, "height of every antenna above ground, to 3000");
  c.side = static_cast<int>(args.integer("side", 2049, 3, "points of the terrain's grid along a side", 30001));
  c.step_m = args.real("step-m", 30, 0.1, "between the points of the grid");
  c.relief_m = args.real("relief-m", 600, 0, "from the lowest to the highest point of the terrain, to 9000");
  c.seed = static_cast<std::uint64_t>(args.integer("seed", 1, 0, "of the terrain and of the places"));
  c.verify = !args.flag("no-verify", "leave the check out");
  c.break_loss_db = args.real("break-loss-db", 0, 0, "added to the losses, to see the check fail");
  if (polarization != "vertical" && polarization != "horizontal") {
    throw usage("--polarization '" + polarization + "' is not known", "vertical or horizontal");
  }
  if (heights != "int16" && heights != "float32") {
    throw usage("--heights '" + heights + "' is not known", "int16 or float32");
  }
  c.heights = heights == "int16" ? HeightKind::int16 : HeightKind::float32;
  c.setting.polarization = polarization == "vertical" ? Polarization::vertical : Polarization::horizontal;
  return c;
}

void require_course(const Course& course) {
  if (course.radios.empty() || course.points.empty() || course.moved.empty() || course.precisions.empty()) {
    throw usage("nothing to measure: --radios, --points, --moved and --precision each need a value", "see --help");
  }
  std::uint32_t warnings = 0;
  ItmError error = check_heights(course.antenna_m, course.antenna_m, warnings);
  if (error == ItmError::none) error = check(course.setting, warnings);
  if (error == ItmError::none && bad_ground(prepare(course.setting))) error = ItmError::ground_impedance;
  if (error != ItmError::none) throw usage(words_of(error), "see --help");
  if (course.relief_m > 9000) throw usage("--relief-m is above 9000", "the Earth has no more");
  require_at_most("--radios", course.radios);
  require_at_most("--points", course.points);
  for (const auto moved : course.moved) {
    for (const auto n : course.radios) {
      if (moved > n) {
        throw usage("--moved " + std::to_string(moved) + " of " + std::to_string(n) + " radios", "move fewer");
      }
    }
  }
}

std::vector<Ask> cases_of(const Course& course) {
  std::vector<Ask> cases;
  for (const auto radios : course.radios) {
    for (const auto points : course.points) {
      for (const Precision precision : course.precisions) {
        for (const auto moved : course.moved) cases.push_back({radios, points, moved, precision});
      }
    }
  }
  return cases;
}

const char* word(Precision precision) { return precision == Precision::fp64 ? "fp64" : "fp32"; }

std::string label_of(const Ask& ask) {
  return std::to_string(ask.radios) + " radios, " + std::to_string(ask.points) + " points, " +
         (ask.moved > 0 ? std::to_string(ask.moved) + " moved, " : "") + word(ask.precision);
}

std::uint64_t all_links(std::uint64_t radios) { return radios * (radios - 1) / 2; }

std::int64_t links_of(const Ask& ask) {
  const std::int64_t all = ask.radios * (ask.radios - 1) / 2, unmoved = ask.radios - ask.moved;
  return ask.moved > 0 ? all - unmoved * (unmoved - 1) / 2 : all;
}

void describe(Case& result, const Course& course, const Ask& ask) {
  result.kernel = ask.moved > 0 ? "itm_moved" : "itm";
  result.params.add("n", ask.radios).add("points", ask.points);
  if (ask.moved > 0) result.params.add("moved", ask.moved);
  result.params.add("precision", word(ask.precision));
  result.params.add("heights", course.heights == HeightKind::int16 ? "int16" : "float32");
}

void add_facts(Object& facts, const Course& course) {
  facts.add("model", "ITM 1.4").add("frequency_mhz", course.setting.frequency_mhz).add("antenna_m", course.antenna_m);
  facts.add("terrain_m", (course.side - 1) * course.step_m).add("grid_m", course.step_m);
  facts.add("heights", course.heights == HeightKind::int16 ? "int16" : "float32").add("relief_m", course.relief_m);
  facts.add("seed", static_cast<std::int64_t>(course.seed));
}

Ground ground_of(const Course& course) {
  require_memory(static_cast<std::uint64_t>(course.side) * static_cast<std::uint64_t>(course.side) * 16, "the terrain");
  return ground_of(synthetic_terrain(course.seed, course.side, course.step_m, course.relief_m), course.heights);
}

std::vector<std::uint32_t> movers(const Ask& ask, std::int64_t sample) {
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(ask.moved));
  for (std::int64_t i = 0; i < ask.moved; ++i) {
    numbers[static_cast<std::size_t>(i)] =
        static_cast<std::uint32_t>((i * ask.radios / ask.moved + sample) % ask.radios);
  }
  return numbers;
}

Residual residual_of(const Course& course, const Ask& ask, const Ground& ground, const Radios& radios,
                     const std::vector<float>& loss_db) {
  const std::vector<double> found = differences_db(course, ask, ground, radios, loss_db);
  const std::string of = " difference from the plain form of " + std::to_string(found.size()) + " links, dB";
  if (found.empty()) return {std::numeric_limits<double>::quiet_NaN(), 0, "all losses are numbers"};
  // Losses are kept in single precision: up to 512 dB they are rounded by less than 2^-15 dB.
  if (ask.precision == Precision::fp64) return {found[0], 0x1p-15, "largest" + of};
  // In single precision one link in a thousand may fall to the other side of a tie of the terrain, by any amount: of
  // 200 links three do so once in a thousand runs.
  return {found[std::min<std::size_t>(2, found.size() - 1)], 0.05, "third largest" + of};
}

}  // namespace shakedown::radio
