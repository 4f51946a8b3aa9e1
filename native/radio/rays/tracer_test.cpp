// What must be true of the ray tracer: closed forms (free space, two rays, a canyon, one corner, one roof), a smooth
// field around a corner, reciprocity, input that is odd, the same losses for any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>

#include "../diffraction.hpp"
#include "rays.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::radio::rays {
namespace {

constexpr double kPi = std::numbers::pi;

void near(Checks& checks, double found, double expected, double limit, const std::string& what,
          const Place& at = Place::current()) {
  checks.that(std::fabs(found - expected) <= limit,
              what + ": found " + std::to_string(found) + ", expected " + std::to_string(expected), at);
}

Building box(double x, double y, double wide, double deep, double height_m) {
  return {{{{x, y}, {x + wide, y}, {x + wide, y + deep}, {x, y + deep}}}, 0, height_m};
}

/// A town, a setting and the last trace in it.
struct Scene {
  Town town;
  PreparedRays prepared;
  SeeScratch see_scratch;
  TraceScratch trace_scratch;
  Trace result;
  Scene(const std::vector<Building>& buildings, const RaySetting& setting)
      : town(buildings), prepared(prepare(setting)) {}
  const Trace& operator()(const Spot& from, const Spot& to) {
    View one, other;
    see(town, prepared, from, one, see_scratch);
    see(town, prepared, to, other, see_scratch);
    trace(town, prepared, one, other, trace_scratch, result);
    return result;
  }
  [[nodiscard]] int count(PathKind kind) const {
    return static_cast<int>(std::count_if(result.paths.begin(), result.paths.end(),
                                          [kind](const Path& path) { return path.kind == kind; }));
  }
};

Complex free_field(double wavelength_m, double length_m) {
  return std::polar(wavelength_m / (4 * kPi * length_m), -2 * kPi * length_m / wavelength_m);
}

void test_two_rays(Checks& checks) {
  for (const Polarization polarization : {Polarization::vertical, Polarization::horizontal}) {
    RaySetting setting;
    setting.polarization = polarization;
    Scene scene({}, setting);
    const double lambda = scene.prepared.wavelength_m;
    near(checks, lambda, 0.666205, 1e-6, "the wavelength of 450 MHz");
    for (const double d : {1.0, 35.0, 400.0, 20'000.0}) {
      const Trace& found = scene({{0, 0}, 12, 10}, {{d * 0.6, d * 0.8}, 12, 1.5});
      const double direct = std::hypot(d, 8.5), mirrored = std::hypot(d, 11.5);
      const Complex r = reflection(complex_permittivity(setting.ground, 450), 11.5 / mirrored,
                                   polarization == Polarization::vertical);
      const Complex one = free_field(lambda, direct), other = r * free_field(lambda, mirrored);
      near(checks, found.coherent_db, std::max(0.0, -20 * std::log10(std::abs(one + other))), 1e-6, "two rays");
      near(checks, found.power_db, std::max(0.0, -10 * std::log10(std::norm(one) + std::norm(other))), 1e-9,
           "two powers");
    }
    scene.prepared.setting.ground_reflection = false;
    near(checks, scene({{0, 0}, 0, 2}, {{1000, 0}, 0, 2}).loss_db, 20 * std::log10(4 * kPi * 1000 / lambda), 1e-9,
         "free space");
    near(checks, scene.result.paths.at(0).delay_ns(), 1000 / 0.299792458, 1e-9, "delay");
  }
}

/// Between two long walls: the images are at the sides, every one at its own distance.
void test_canyon(Checks& checks) {
  RaySetting setting;
  setting.ground_reflection = setting.corners = setting.roofs = false;
  setting.frequency_mhz = 1900;
  Scene scene({box(-500, 20, 1000, 10, 30), box(-500, -10, 1000, 10, 30)}, setting);
  const double lambda = scene.prepared.wavelength_m, d = 73, from_y = 6, to_y = 13.5;
  const Complex e = scene.prepared.wall_permittivity;
  Complex field = 0;
  double power = 0;
  int images = 0;
  for (const auto& [image_y, walls] :
       {std::pair{to_y, 0}, {-to_y, 1}, {40 - to_y, 1}, {40 + to_y, 2}, {to_y - 40, 2}}) {
    const double path = std::hypot(d, image_y - from_y, 3 - 1.5), cosine = std::fabs(image_y - from_y) / path;
    const Complex gain = free_field(lambda, path) * std::pow(reflection(e, cosine, false), walls);
    field += gain;
    power += std::norm(gain);
    ++images;
  }
  const Trace& found = scene({{0, from_y}, 0, 1.5}, {{d, to_y}, 0, 3});
  checks.equal(static_cast<int>(found.paths.size()), images, "paths of the canyon");
  near(checks, found.coherent_db, -20 * std::log10(std::abs(field)), 1e-8, "field of the canyon");
  near(checks, found.power_db, -10 * std::log10(power), 1e-9, "power of the canyon");
  scene.prepared.setting.reflections = 1;
  scene({{0, from_y}, 0, 1.5}, {{d, to_y}, 0, 3});
  checks.equal(scene.count(PathKind::reflected), 2, "reflections to order 1");
  scene.prepared.setting.reflections = 2;
  scene({{0, from_y}, 0, 45}, {{d, to_y}, 0, 45});
  checks.equal(static_cast<int>(scene.result.paths.size()), 1, "above the roofs nothing is reflected");
  scene({{0, from_y}, 0, 45}, {{d, to_y}, 0, 10});
  // At 20 m / 26.5 m, 6 m / 19.5 m and 34 m / 20.5 m of height: by the near image it is below the roof, by the far not.
  for (const Path& path : scene.result.paths) {
    for (const Stop& stop : scene.result.stops_of(path)) {
      checks.that(stop.kind != StopKind::wall || stop.z < 30, "a wall reflects below its top");
    }
  }
}

/// Around one corner the whole field is smooth: through both shadows, of the source and of its image.
void test_corner(Checks& checks) {
  for (const Polarization polarization : {Polarization::vertical, Polarization::horizontal}) {
    for (const bool ground : {false, true}) {
      RaySetting setting;
      setting.polarization = polarization;
      setting.ground_reflection = ground;
      setting.reflections = 1;
      setting.corner_reflections = 0;
      setting.roofs = false;
      Scene scene({box(0, 0, 4000, 4000, 100)}, setting);
      const Spot from{{-30, 12}, 0, 5};
      Complex before = 0;
      int states = 0;
      std::size_t paths = 0;
      const double step = 2e-5, closely = kSanitized ? 0.002 : 0.01;  // so near to a boundary
      // From in front of the face x = 0 past the corner at (0, 0) into the shadow behind y = 0.
      double angle = kPi;
      while (angle < 2 * kPi - 1e-3) {
        if (std::fabs(angle - 2 * kPi + std::atan2(12, 30)) > closely &&
            std::fabs(angle - kPi - std::atan2(12, 30)) > closely) {
          angle += 50 * step;
          before = 0;
        }
        const Trace& found = scene(from, {Point{std::cos(angle), std::sin(angle)} * 40, 0, 2});
        Complex field = 0;
        for (const Path& path : found.paths) field += path.gain;
        if (before != Complex(0)) {
          checks.that(std::abs(field - before) < 0.012 * std::abs(before), "no step at " + std::to_string(angle));
        }
        if (found.paths.size() != paths) ++states;
        paths = found.paths.size();
        before = field;
        angle += step;
      }
      checks.that(states >= 2, "the way crossed the boundaries");
    }
  }
}

void test_roof(Checks& checks) {
  RaySetting setting;
  setting.ground_reflection = false;
  Scene scene({box(49.5, -500, 1, 1000, 20)}, setting);
  const double lambda = scene.prepared.wavelength_m;
  const Trace& found = scene({{0, 0}, 0, 2}, {{100, 0}, 0, 2});
  checks.equal(found.paths.size(), std::size_t{1}, "one way over a wall");
  checks.equal(scene.count(PathKind::roof), 1, "over it");
  const Path& path = found.paths.at(0);
  near(checks, path.length_m, 1 + 2 * std::hypot(49.5, 18), 1e-9, "the string over both of its edges");
  const double nu = 18 * std::sqrt(2 * 100 / (lambda * 49.5 * 50.5)), main_db = knife_edge_db(nu);
  const double second = 18 / 50.5 * std::sqrt(2 * 50.5 / (lambda * 1 * 49.5));
  near(checks, path.diffraction_db, main_db + (1 - std::exp(-main_db / 6)) * knife_edge_db(second), 1e-9, "two edges");
  checks.equal(found.stops_of(path).size(), std::size_t{4}, "its stops");
  // The loss has no step where the line clears the roof.
  double before = scene({{0, 0}, 0, 19.9}, {{100, 0}, 0, 19.9}).power_db;
  for (int step = 0; step < 200; ++step) {
    const double height = 19.9 + 1e-3 * step;
    const double now = scene({{0, 0}, 0, height}, {{100, 0}, 0, height}).power_db;
    near(checks, now, before, 0.02, "loss near the roof");
    before = now;
  }
}

/// Blocks of houses, the same each time.
std::vector<Building> blocks(int side) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> height(5, 30), gap(0, 6);
  std::vector<Building> buildings;
  for (int i = 0; i < side * side; ++i) {
    const int column = i % side, row = i / side;
    const double x = column * 40, y = row * 40;
    buildings.push_back(box(x + gap(random), y + gap(random), 22, 20, height(random)));
  }
  return buildings;
}

std::vector<Spot> spots_in(const Town& town, double side_m, int count) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> at(0, side_m), height(1, 35);
  std::vector<Spot> spots;
  while (static_cast<int>(spots.size()) < count) {
    const Spot spot{{at(random), at(random)}, 0, spots.size() % 3 == 0 ? height(random) : 1.5};
    if (town.is_open(spot.at, spot.z())) spots.push_back(spot);
  }
  return spots;
}

void test_reciprocity(Checks& checks) {
  Scene scene(blocks(6), RaySetting{});
  const std::vector<Spot> spots = spots_in(scene.town, 240, kSanitized ? 16 : 40);
  for (std::size_t i = 0; i < spots.size(); ++i) {
    for (std::size_t j = i + 1; j < spots.size(); ++j) {
      const Trace there = scene(spots[i], spots[j]);
      const Trace& back = scene(spots[j], spots[i]);
      checks.equal(back.paths.size(), there.paths.size(), "paths there and back");
      near(checks, back.power_db, there.power_db, 1e-9, "power there and back");
      near(checks, back.coherent_db, there.coherent_db,
           1e-9 + 1e-11 * std::pow(10, there.coherent_db / 20 - there.power_db / 20), "field there and back");
    }
  }
}

void test_threads(Checks& checks) {
  const Town town(blocks(6));
  const PreparedRays prepared = prepare(RaySetting{});
  const std::vector<Spot> spots = spots_in(town, 240, 30);
  std::vector<float> one(30 * 29 / 2), three(one.size());
  Team alone(choose_cpus(1, "")), team({allowed_cpus()[0], allowed_cpus()[0], allowed_cpus()[0]});
  all_losses(alone, town, prepared, see_all(alone, town, prepared, spots), one);
  all_losses(team, town, prepared, see_all(team, town, prepared, spots), three);
  checks.that(one == three, "one thread and three");
  checks.that(std::all_of(one.begin(), one.end(), [](float loss) { return loss > 0 && loss < 400; }), "all are losses");
}

void test_odd_places(Checks& checks) {
  Scene scene({box(0, 0, 20, 20, 10), box(20, 0, 20, 20, 15)}, RaySetting{});  // they touch
  const Spot street{{-10, 5}, 0, 2};
  checks.that(std::isnan(scene(street, {{5, 5}, 0, 3}).loss_db) && scene.result.paths.empty(), "inside of a building");
  checks.that(std::isnan(scene({{25, 5}, 0, 12}, street).loss_db), "inside of the higher one");
  checks.that(std::isfinite(scene({{5, 5}, 0, 12}, street).loss_db), "on a roof");
  checks.that(std::isnan(scene(street, street).loss_db), "both at one place");
  near(checks, scene({{-10, 5}, 0, 52}, street).power_db, 20 * std::log10(4 * kPi * 50 / scene.prepared.wavelength_m),
       0.5, "one above the other");
  for (const double off_m : {0.0, 1e-9, 1e-7, 1e-5, 1e-3}) {
    const Trace& found = scene({{-off_m, 7}, 0, 2}, street);
    checks.that(std::isfinite(found.loss_db) && found.loss_db < 70, "on a wall");
    checks.that(scene.count(PathKind::direct) == 2, "on a wall the street is seen");
    checks.that(std::isfinite(scene({{-off_m, 7}, 0, 2}, {{60, 7}, 0, 2}).loss_db), "on a wall, over the roofs");
    checks.that(std::isfinite(scene({{-off_m, 0}, 0, 2}, street).loss_db), "at a corner");
    checks.that(std::isfinite(scene({{-off_m, -off_m}, 0, 2}, {{30, -off_m}, 0, 2}).loss_db), "along a facade");
  }
  for (const Corner& corner : scene.town.corners()) {
    checks.that(std::fabs(corner.at.x - 20) > 1e-9 || corner.low_m == 10,
                "where both touch, only the higher has a corner");
  }
}

void test_odd_towns(Checks& checks) {
  const double nan = std::nan(""), far = std::numeric_limits<double>::infinity();
  checks.equal(Town(std::vector<Building>{}).walls().size(), std::size_t{0}, "no buildings");
  checks.equal(Town(std::vector{box(0, 0, 9, 9, 0), box(20, 0, 9, 9, -3)}).buildings(), std::size_t{0}, "no height");
  checks.equal(Town(std::vector{box(0, 0, 9, 0, 5), box(0, 0, 1e-5, 9, 5)}).walls().size(), std::size_t{0}, "no area");
  checks.throws<Error>([&] { Town(std::vector{box(nan, 0, 9, 9, 5)}); }, "NaN");
  checks.throws<Error>([&] { Town(std::vector{box(0, 0, 9, 9, far)}); }, "no end of height");
  checks.throws<Error>([&] { Town(std::vector{box(0, 2e7, 9, 9, 5)}); }, "20,000 km away");
  // Corners along a wall, given twice, closed or the other way round: the same town.
  Building odd{{{{0, 0}, {5, 0}, {5, 0}, {20, 0}, {20, 20}, {0, 20}, {0, 0}}}, 0, 10};
  const Town straight(std::vector{odd});
  checks.equal(straight.walls().size(), std::size_t{5}, "walls");
  checks.equal(straight.corners().size(), std::size_t{4}, "corners: none within a facade");
  std::reverse(odd.rings[0].begin(), odd.rings[0].end());
  checks.equal(Town(std::vector{odd}).corners().size(), std::size_t{4}, "the other way round");
  Scene one({odd}, RaySetting{}), other({box(0, 0, 20, 20, 10)}, RaySetting{});
  const Spot from{{-10, 5}, 0, 2}, to{{31, 7}, 0, 2};
  near(checks, one(from, to).power_db, other(from, to).power_db, 1e-9, "walls in two pieces");
  const Town twice(std::vector{box(0, 0, 20, 20, 10), box(0, 0, 20, 20, 10)});
  checks.equal(twice.corners().size(), std::size_t{0}, "the same building twice: no corner is free");
  const Building yard{{{{0, 0}, {40, 0}, {40, 40}, {0, 40}}, {{10, 10}, {30, 10}, {30, 30}, {10, 30}}}, 0, 12};
  Scene court({yard}, RaySetting{});
  checks.equal(court.town.corners().size(), std::size_t{4}, "a courtyard has none");
  checks.that(std::isfinite(court({{20, 20}, 0, 2}, {{25, 15}, 0, 2}).loss_db), "within a courtyard");
  checks.equal(court.count(PathKind::direct), 2, "they see each other");
  checks.that(court.count(PathKind::reflected) >= 8, "and the walls around");
  court({{20, 20}, 0, 2}, from);
  checks.equal(court.count(PathKind::direct), 0, "out of a courtyard: over the roof");
  checks.that(court.count(PathKind::roof) >= 1, "over the roof");
}

void test_settings(Checks& checks) {
  const auto refused = [&](auto&& change, const std::string& what) {
    RaySetting setting;
    change(setting);
    checks.throws<Error>([&] { prepare(setting); }, what);
  };
  for (const double mhz : {0.0, -450.0, 19.0, 1e6, std::nan("")}) {
    refused([mhz](RaySetting& setting) { setting.frequency_mhz = mhz; }, "frequency " + std::to_string(mhz));
  }
  refused([](RaySetting& setting) { setting.reflections = 3; }, "three reflections");
  refused([](RaySetting& setting) { setting.reflections = -1; }, "fewer than no reflections");
  refused([](RaySetting& setting) { setting.corner_reflections = 2; }, "two with a corner");
  refused([](RaySetting& setting) { setting.ground.permittivity = 0.5; }, "a ground below vacuum");
  refused([](RaySetting& setting) { setting.ground.conductivity_s_per_m = std::nan(""); }, "a ground of NaN");
}

void test_explanation(Checks& checks) {
  Scene scene(blocks(4), RaySetting{});
  const std::string json = to_json(paths_json(scene({{-3, -3}, 0, 2}, {{150, 170}, 0, 2})));
  for (const char* word : {"\"kind\":\"roof\"", "\"delay_ns\":", "\"departure_azimuth_deg\":", "\"z_m\":"}) {
    checks.that(json.find(word) != std::string::npos, std::string("the explanation has ") + word);
  }
}

}  // namespace
}  // namespace shakedown::radio::rays

int main() {
  using namespace shakedown::radio::rays;
  shakedown::Checks checks;
  test_two_rays(checks);
  test_canyon(checks);
  test_corner(checks);
  test_roof(checks);
  test_reciprocity(checks);
  test_threads(checks);
  test_odd_places(checks);
  test_odd_towns(checks);
  test_settings(checks);
  test_explanation(checks);
  return checks.end();
}
