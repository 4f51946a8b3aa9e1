// What must be true of diffraction: the vectors of ITU-R P.1812's validation, the Fresnel integrals, closed forms of
// one and of no edge, reciprocity, and that a loss never falls where the ground rises.
#include "diffraction.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "models.hpp"
#include "testing/check.hpp"

namespace shakedown::radio {
namespace {

void near(Checks& checks, double found, double expected, double limit, const std::string& what) {
  checks.that(std::fabs(found - expected) <= limit,
              what + ": found " + std::to_string(found) + ", expected " + std::to_string(expected));
}

double term(const PathLoss& loss, const std::string& name) {
  for (const Term& term : loss.terms()) {
    if (name == term.name) return term.value;
  }
  return std::nan("");
}

PathLoss loss_of(const std::string& model, const ModelSetting& setting, const RadioPath& path) {
  return path_loss(prepare_model(model, setting), path);
}

std::vector<double> rburg() {
  std::ifstream file(std::string(VECTORS) + "/p1812_rburg_profile.csv");
  std::vector<double> heights;
  for (double height; file >> height; file.ignore(1)) heights.push_back(height);
  return heights;
}

/// ITU-R P.1812's validation: the path from Regensburg to Munich, 98.2 MHz, horizontal, over land, DN = 45. Its logs
/// give the intermediates for the effective earth of 3 radii, and the loss of diffraction for both. P.1812 rounds the
/// velocity of light to 2.998e8 m/s, which moves a loss by 1e-4 dB.
void test_p1812(Checks& checks) {
  struct Vector {
    double tx_m, rx_m, earth_factor, smooth_tx_m, smooth_rx_m, bullington_db, smooth_db, spherical_db, diffraction_db;
  };
  constexpr double kMedian = 157.0 / (157 - 45), kNone = NAN;
  constexpr Vector kVectors[] = {
      {12, 19, 3, 362.5381701, 495.9202499, 33.10888247, 16.1773341, 37.42847713, 54.3600255},
      {12, 19, kMedian, 362.5381701, 495.9202499, kNone, kNone, kNone, 60.53920448},
      {200, 200, 3, 395, 496, 6.964682673, 1.019665977, 1.070248895, 7.015265591},
      {200, 200, kMedian, 395, 496, kNone, kNone, kNone, 13.64139205},
      {1000, 200, 3, 395, 496, 0, 0, 0, 0},
      {1000, 200, kMedian, 395, 496, 0, 0, 0, 0},
  };
  const std::vector<double> heights = rburg();
  checks.equal(heights.size(), std::size_t{963}, "points of the path");
  ModelSetting setting;
  setting.radio.frequency_mhz = 98.2;
  setting.radio.polarization = Polarization::horizontal;
  setting.radio.permittivity = 22;
  setting.radio.conductivity_s_per_m = 0.003;
  for (const Vector& vector : kVectors) {
    setting.earth_factor = vector.earth_factor;
    PreparedModel prepared = prepare_model("delta_bullington", setting);
    prepared.wavelength_m = 2.998e8 / 98.2e6;
    const PathLoss loss = path_loss(prepared, {vector.tx_m, vector.rx_m, heights, 100});
    const auto equal = [&](const char* name, double expected, double limit) {
      if (!std::isnan(expected)) near(checks, term(loss, name), expected, limit, name);
    };
    equal("smooth_tx_m", vector.smooth_tx_m, 1e-6);
    equal("smooth_rx_m", vector.smooth_rx_m, 1e-6);
    equal("bullington_db", vector.bullington_db, 1e-6);
    equal("smooth_bullington_db", vector.smooth_db, 1e-6);
    equal("spherical_earth_db", vector.spherical_db, 1e-6);
    near(checks, loss.loss_db - term(loss, "free_space_db"), vector.diffraction_db, 1e-6, "diffraction");
  }
}

/// From the same validation, path b2iseac, 95.3 MHz, vertical, 91 % over sea: both grounds weighed, heights given.
void test_p1812_vertical(Checks& checks) {
  Setting land, sea;
  land.frequency_mhz = sea.frequency_mhz = 95.3;
  land.permittivity = 22;
  land.conductivity_s_per_m = 0.003;
  sea.permittivity = 80;
  sea.conductivity_s_per_m = 5;
  const auto loss = [&](const Setting& ground) {
    return spherical_earth(235.1e3, 734.5370073, 154.7962427, 3 * 6371e3, 2.998e8 / 95.3e6, ground).loss_db;
  };
  near(checks, 0.91 * loss(sea) + 0.09 * loss(land), 14.04613832, 1e-6, "over sea and land, vertical");
}

/// P.526-15, equation 30: the Fresnel integrals, by Simpson's rule. The formula is within 0.13 dB of them.
void test_knife_edge(Checks& checks) {
  for (int step = -7; step < 60; ++step) {
    const double v = 0.1 * step;
    constexpr int kSteps = 4000;
    double c = 0, s = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const double t = v * i / kSteps, weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
      c += weight * std::cos(M_PI / 2 * t * t) * v / kSteps / 3;
      s += weight * std::sin(M_PI / 2 * t * t) * v / kSteps / 3;
    }
    const double exact = -10 * std::log10(((1 - c - s) * (1 - c - s) + (c - s) * (c - s)) / 4);
    near(checks, knife_edge_db(v), exact, 0.13, "knife edge at " + std::to_string(v));
  }
  checks.equal(knife_edge_db(-0.78), 0.0, "far below the line");
  checks.that(knife_edge_db(-0.7799) < 0.01, "no step where the loss begins");
  near(checks, knife_edge_db(0), 6.0328, 1e-3, "half of the field at grazing");
}

std::vector<double> ridge(std::size_t points, std::size_t at, double height) {
  std::vector<double> heights(points, 0.0);
  heights[at] = height;
  return heights;
}

void test_one_edge(Checks& checks) {
  ModelSetting setting;
  setting.earth_factor = 1000;  // nearly flat
  const auto heights = ridge(101, 30, 150);
  const RadioPath path{10, 20, heights, 100};
  const double wavelength = 299.792458 / 450, line = 10 + 0.3 * 10;
  const double bulge = 3000.0 * 7000 / (2 * 6371e6);
  const double v = (150 + bulge - line) * std::sqrt(2 * 10e3 / (wavelength * 3e3 * 7e3));
  const PathLoss edge = loss_of("knife_edge", setting, path), deygout = loss_of("deygout", setting, path),
                 bullington = loss_of("bullington", setting, path);
  near(checks, term(edge, "edge_parameter"), v, 1e-9, "parameter by hand");
  near(checks, edge.loss_db - term(edge, "free_space_db"), knife_edge_db(v), 1e-12, "the edge's loss");
  near(checks, term(bullington, "knife_edge_db"), knife_edge_db(v), 1e-9, "Bullington of one edge is that edge");
  near(checks, term(bullington, "edge_m"), 3000, 1e-6, "where it stands");
  near(checks, deygout.loss_db, edge.loss_db, 1e-12, "Deygout of one edge is that edge");
  near(checks, term(loss_of("deygout_p526", setting, path), "correction_db"),
       (1 - std::exp(-knife_edge_db(v) / 6)) * 10.4, 1e-9, "the ITU's correction over 10 km");
}

/// Three equal ridges: Deygout's sum by hand.
void test_three_edges(Checks& checks) {
  ModelSetting setting;
  setting.earth_factor = 1000;
  std::vector<double> heights(121, 0.0);
  heights[20] = heights[100] = 80;
  heights[60] = 120;
  const double wavelength = 299.792458 / 450, a = 6371e6;
  const auto bulge = [&](double at) { return at * (12e3 - at) / (2 * a); };
  const double main_top = 120 + bulge(6e3);
  const double main = (main_top - 10) * std::sqrt(2 * 12e3 / (wavelength * 6e3 * 6e3));
  const double line = (10 * 4e3 + main_top * 2e3) / 6e3;
  const double side = (80 + bulge(2e3) - line) * std::sqrt(2 * 6e3 / (wavelength * 2e3 * 4e3));
  const PathLoss loss = loss_of("deygout", setting, {10, 10, heights, 100});
  near(checks, term(loss, "main_edge_db"), knife_edge_db(main), 1e-9, "main edge");
  near(checks, term(loss, "tx_edge_db"), knife_edge_db(side), 1e-9, "edge before it");
  near(checks, term(loss, "rx_edge_db"), knife_edge_db(side), 1e-9, "edge behind it");
  near(checks, loss.loss_db - term(loss, "free_space_db"), knife_edge_db(main) + 2 * knife_edge_db(side), 1e-9, "sum");
}

constexpr const char* kAll[] = {"knife_edge", "deygout", "deygout_p526", "bullington", "delta_bullington"};

void test_clearance(Checks& checks) {
  ModelSetting setting;
  const std::vector<double> flat(51, 100.0), two(2, 100.0);
  for (const char* const model : kAll) {
    const PathLoss high = loss_of(model, setting, {300, 300, flat, 100});
    checks.equal(high.loss_db, term(high, "free_space_db"), std::string(model) + ": nothing far above the ground");
    const PathLoss ends = loss_of(model, setting, {300, 300, two, 5000});
    checks.equal(ends.loss_db, term(ends, "free_space_db"), std::string(model) + ": no ground between two points");
  }
}

/// On flat ground delta-Bullington is the greater of Bullington's edge and the smooth earth.
void test_flat(Checks& checks) {
  ModelSetting setting;
  for (const double step : {20.0, 100.0, 500.0, 1500.0}) {
    const std::vector<double> flat(101, 250.0);
    const RadioPath path{8, 25, flat, step};
    const double delta = loss_of("delta_bullington", setting, path).loss_db;
    const double edge = loss_of("bullington", setting, path).loss_db,
                 earth = loss_of("spherical_earth", setting, path).loss_db;
    near(checks, delta, std::fmax(edge, earth), 1e-6, "flat ground, " + std::to_string(step) + " m");
  }
}

std::vector<double> rough(std::mt19937_64& random, std::size_t points) {
  std::normal_distribution<double> step(0, 4);
  std::vector<double> heights{100};
  while (heights.size() < points) heights.push_back(heights.back() + step(random));
  return heights;
}

/// The other way round is the same loss; free space is the least; the ground raised in one place never loses less by
/// the main edge.
void test_random_paths(Checks& checks) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> any(0, 1);
  for (int i = 0; i < 400; ++i) {
    ModelSetting setting;
    setting.radio.frequency_mhz = 30 * std::pow(200, any(random));
    setting.radio.polarization = any(random) < 0.5 ? Polarization::vertical : Polarization::horizontal;
    setting.earth_factor = 0.7 + 3 * any(random);
    auto heights = rough(random, 3 + random() % 300);
    const RadioPath path{1 + 50 * any(random), 1 + 50 * any(random), heights, 30 + 200 * any(random)};
    std::vector<double> reversed(heights.rbegin(), heights.rend());
    const RadioPath back{path.rx_height_m, path.tx_height_m, reversed, path.step_m};
    for (const char* const model : kAll) {
      const PreparedModel prepared = prepare_model(model, setting);
      const PathLoss there = path_loss(prepared, path), other = path_loss(prepared, back);
      near(checks, there.loss_db, other.loss_db, 1e-8, std::string(model) + ": both ways");
      checks.that(there.loss_db >= term(there, "free_space_db"), std::string(model) + ": at least free space");
    }
    const PreparedModel edge = prepare_model("knife_edge", setting);
    const double before = path_loss(edge, path).loss_db;
    heights[1 + random() % (heights.size() - 2)] += 30 * any(random);
    checks.that(path_loss(edge, path).loss_db >= before, "a hill more loses no less");
  }
}

/// Over the smooth earth: nothing in full view, no step at the horizon, more with distance, less with height.
void test_spherical(Checks& checks) {
  Setting ground;
  const double a = 6371e3 * 4 / 3, wavelength = 299.792458 / 450;
  const auto loss = [&](double d, double h1, double h2) {
    return spherical_earth(d, h1, h2, a, wavelength, ground).loss_db;
  };
  const double horizon = spherical_earth(1e3, 30, 10, a, wavelength, ground).horizon_m;
  near(checks, horizon, std::sqrt(2 * a) * (std::sqrt(30.0) + std::sqrt(10.0)), 1e-6, "horizon");
  near(checks, loss(horizon * (1 - 1e-9), 30, 10), loss(horizon, 30, 10), 1e-3, "no step at the horizon");
  checks.equal(loss(2e3, 60, 60), 0.0, "nothing in full view");
  near(checks, loss(40e3, 30, 10), loss(40e3, 10, 30), 1e-9, "both ways");
  for (int step = 0; step < 76; ++step) {
    const double d = 5e3 * std::pow(1.05, step);
    checks.that(loss(d * 1.05, 30, 10) >= loss(d, 30, 10), "more with distance");
    checks.that(loss(d, 40, 10) <= loss(d, 30, 10) + 1e-9, "less with height");
  }
  for (const double h : {0.0, 1e-3, 1.0}) {
    for (int step = 0; step < 13; ++step) {
      const double d = std::pow(3, step);
      checks.that(std::isfinite(loss(d, h, 0)) && std::isfinite(loss(d, 5, h)), "a number with antennas on the ground");
    }
  }
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  shakedown::Checks checks;
  shakedown::radio::test_p1812(checks);
  shakedown::radio::test_p1812_vertical(checks);
  shakedown::radio::test_knife_edge(checks);
  shakedown::radio::test_one_edge(checks);
  shakedown::radio::test_three_edges(checks);
  shakedown::radio::test_clearance(checks);
  shakedown::radio::test_flat(checks);
  shakedown::radio::test_random_paths(checks);
  shakedown::radio::test_spherical(checks);
  return checks.end();
}
