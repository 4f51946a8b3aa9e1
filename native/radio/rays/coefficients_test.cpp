// What must be true of reflection and diffraction: published values, the exact fields of a half-plane and of a wedge,
// no step at any boundary, reciprocity.
#include "coefficients.hpp"

#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include "../diffraction.hpp"
#include "testing/check.hpp"

namespace shakedown::radio::rays {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kFarAway_m = 1e12;  // of a source: its waves are plane

void near(Checks& checks, Complex found, Complex expected, double limit, const std::string& what,
          const Place& at = Place::current()) {
  checks.that(std::abs(found - expected) <= limit,
              what + ": found " + std::to_string(found.real()) + " + j " + std::to_string(found.imag()) +
                  ", expected " + std::to_string(expected.real()) + " + j " + std::to_string(expected.imag()),
              at);
}

/// The integral of exp(-j t^2) from 0 to `end` by Simpson's rule.
Complex fresnel_integral(double end) {
  const int steps = 2 * (2000 + static_cast<int>(400 * end * end));
  Complex sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double t = end * i / steps, weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::polar(1.0, -t * t);
  }
  return sum * (end / steps / 3);
}

const Complex kHalfFresnel = std::polar(std::sqrt(kPi) / 2, -kPi / 4);  // the same from 0 to infinity

void test_transition(Checks& checks) {
  // McNamara, Pistorius and Malherbe, "Introduction to the UTD", 1990: four digits.
  const struct {
    double x;
    Complex value;
  } table[] = {{0.5, {0.6768, 0.2682}}, {0.7, {0.7439, 0.2549}}, {1.0, {0.8095, 0.2322}}, {1.5, {0.8730, 0.1982}},
               {2.3, {0.9240, 0.1577}}, {4.0, {0.9658, 0.1073}}, {5.5, {0.9797, 0.0828}}};
  for (const auto& [x, value] : table) near(checks, transition(x), value, 1.1e-4, "F(" + std::to_string(x) + ")");
  for (const double x : {1e-6, 1e-3, 0.1, 1.0, 3.9, 3.999999, 4.000001, 4.1, 7.0, 12.0, 30.0}) {
    const double root = std::sqrt(x);
    const Complex expected = Complex(0, 2) * root * std::polar(1.0, x) * (kHalfFresnel - fresnel_integral(root));
    near(checks, transition(x), expected, 1e-9, "F(" + std::to_string(x) + ") by its integral");
  }
  for (const double x : {1e3, 1e5}) {  // 1 + j / 2x - 3 / 4x^2
    near(checks, transition(x), Complex(1 - 0.75 / x / x, 0.5 / x), 3 / (x * x * x), "F of large arguments");
  }
  near(checks, transition(0), 0, 0, "F(0)");
}

/// The field of geometrical optics of a plane wave of phase 0 at the edge: what arrives directly, and what the face
/// at 0 reflects.
Complex optics(double k, double m, double from, double to, Complex r) {
  Complex field = 0;
  if (to - from < kPi) field += std::polar(1.0, k * m * std::cos(to - from));
  if (to + from < kPi) field += r * std::polar(1.0, k * m * std::cos(to + from));
  return field;
}

Complex diffracted(double k, double m, double exterior, double from, double to, Complex permittivity, bool parallel) {
  const WedgeRay ray{exterior, from, to, kFarAway_m, m, 1};
  return wedge_diffraction(ray, k, permittivity, parallel) * std::polar(1 / std::sqrt(m), -k * m);
}

const Complex kPerfect = complex_permittivity(material_of(WallMaterial::perfect, 1000), 1000);

/// Sommerfeld's solution for a half-plane, of which UTD is no approximation.
void test_half_plane(Checks& checks) {
  const double k = 20, m = 1.7;
  const auto part = [&](double beta) {
    const double begin = -std::sqrt(2 * k * m) * std::cos(beta / 2);
    const Complex integral = fresnel_integral(std::fabs(begin)) * (begin < 0 ? -1.0 : 1.0);
    return std::polar(1.0, k * m * std::cos(beta)) * (kHalfFresnel - integral) / (2.0 * kHalfFresnel);
  };
  for (const double from : {0.3, 1.1, 2.9}) {
    for (int step = 0; step < 63; ++step) {
      const double to = 0.05 + 0.1 * step;
      for (const bool parallel : {false, true}) {
        const double sign = parallel ? 1 : -1;
        const Complex exact = part(to - from) + sign * part(to + from);
        const Complex found = optics(k, m, from, to, sign) + diffracted(k, m, 2 * kPi, from, to, kPerfect, parallel);
        near(checks, found, exact, 1e-9, "half-plane, to " + std::to_string(to));
      }
    }
  }
}

/// The exact field at a wedge is a series of Bessel functions (Balanis, "Advanced Engineering Electromagnetics",
/// 13-53): UTD comes near it where the edge is some wavelengths away.
void test_wedge(Checks& checks) {
  const double n = 1.5, k = 2 * kPi, m = 5;
  for (const double from : {0.6, 2.0}) {
    for (int step = 0; 0.1 + 0.37 * step < n * kPi; ++step) {
      const double to = 0.1 + 0.37 * step;
      for (const bool parallel : {false, true}) {
        Complex exact = 0;
        for (int i = 0; i < 90; ++i) {
          const double order = i / n, weight = (i == 0 ? 1 : 2) / n;
          const double modes = parallel ? 2 * std::cos(order * from) * std::cos(order * to)
                                        : 2 * std::sin(order * from) * std::sin(order * to);
          exact += weight * std::polar(1.0, order * kPi / 2) * std::cyl_bessel_j(order, k * m) * modes;
        }
        const double sign = parallel ? 1 : -1;
        Complex found = optics(k, m, from, to, sign) + diffracted(k, m, n * kPi, from, to, kPerfect, parallel);
        const double other_from = n * kPi - from, other_to = n * kPi - to;  // by the other face
        if (other_to + other_from < kPi) found += sign * std::polar(1.0, k * m * std::cos(other_to + other_from));
        near(checks, found, exact, 0.02, "wedge, from " + std::to_string(from) + " to " + std::to_string(to));
      }
    }
  }
}

/// Across the boundaries of shadow and of reflection the whole field of any wall is smooth.
void test_boundaries(Checks& checks) {
  const double k = 2 * kPi * 3, m = 4, step = 1e-7;
  for (const WallMaterial walls : {WallMaterial::concrete, WallMaterial::brick, WallMaterial::perfect}) {
    const Complex e = complex_permittivity(material_of(walls, 900), 900);
    for (const double n : {1.2, 1.5, 1.9, 2.0}) {
      for (const double from : {0.2, 0.9, 1.4}) {
        for (const bool parallel : {false, true}) {
          const auto field = [&](double to) {
            const Complex r = reflection(e, std::sin(from), parallel);
            return optics(k, m, from, to, r) + diffracted(k, m, n * kPi, from, to, e, parallel);
          };
          for (const double boundary : {kPi - from, kPi + from}) {
            if (boundary >= n * kPi) continue;
            near(checks, field(boundary + step), field(boundary - step), 1e-4, "step at " + std::to_string(boundary));
          }
          const double at_face = reflection(e, 1e-9, parallel).real();
          checks.that(std::isfinite(std::abs(field(0))) && std::fabs(at_face) <= 1, "at the face itself");
        }
      }
    }
  }
}

void test_symmetry(Checks& checks) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> part(0, 1);
  const Complex e = complex_permittivity(material_of(WallMaterial::concrete, 450), 450);
  for (int i = 0; i < 2000; ++i) {
    const double exterior = kPi * (1 + part(random));
    const WedgeRay there{exterior,
                         exterior * part(random),
                         exterior * part(random),
                         1 + 99 * part(random),
                         1 + 99 * part(random),
                         0.5 + 0.5 * part(random)};
    const WedgeRay back{exterior, there.to_rad, there.from_rad, there.to_m, there.from_m, there.sine_to_edge};
    const WedgeRay other{exterior,   exterior - there.from_rad, exterior - there.to_rad, there.from_m,
                         there.to_m, there.sine_to_edge};
    for (const bool parallel : {false, true}) {
      const Complex way = wedge_diffraction(there, 9.4, e, parallel);
      near(checks, wedge_diffraction(back, 9.4, e, parallel), way, 1e-12 * std::abs(way) + 1e-15, "reciprocity");
      near(checks, wedge_diffraction(other, 9.4, e, parallel), way, 1e-9 * std::abs(way) + 1e-12, "by the other face");
    }
  }
}

void test_fresnel(Checks& checks) {
  for (const bool parallel : {false, true}) {
    near(checks, reflection(4, 1, parallel), parallel ? 1.0 / 3 : -1.0 / 3, 1e-15, "normal incidence, e = 4");
    near(checks, reflection({5.24, -0.9}, 0, parallel), -1, 1e-15, "grazing incidence");
  }
  near(checks, reflection(4, 1 / std::sqrt(5), true), 0, 1e-15, "Brewster's angle, e = 4");
  near(checks, reflection(kPerfect, 0.4, true), 1, 0, "perfect, in the plane");
  near(checks, reflection(kPerfect, 0.4, false), -1, 0, "perfect, across it");
  const Complex metal = complex_permittivity(material_of(WallMaterial::metal, 1000), 1000);
  near(checks, reflection(metal, 0.5, false), -1, 1e-3, "metal");
  near(checks, complex_permittivity(material_of(WallMaterial::concrete, 1000), 1000), {5.24, -0.8304}, 1e-3,
       "concrete at 1 GHz: 17.98 sigma / f");
}

void test_edge(Checks& checks) {
  near(checks, knife_edge_db(-0.78), 0, 0, "no loss");
  near(checks, knife_edge_db(-0.779), 0, 0.02, "no step");
  near(checks, knife_edge_db(0), 6.0328, 1e-3, "grazing: half of the field");
  near(checks, knife_edge_db(50), 13 + 20 * std::log10(50), 0.15, "13 + 20 log nu");
}

}  // namespace
}  // namespace shakedown::radio::rays

int main() {
  using namespace shakedown::radio::rays;
  shakedown::Checks checks;
  test_transition(checks);
  test_half_plane(checks);
  test_wedge(checks);
  test_boundaries(checks);
  test_symmetry(checks);
  test_fresnel(checks);
  test_edge(checks);
  return checks.end();
}
