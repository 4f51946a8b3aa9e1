#include "coefficients.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace shakedown::radio::rays {
namespace {

constexpr double kPi = std::numbers::pi;

/// exp(z^2) erfc(z) for z = exp(j pi/4) root, root >= 0: a series near 0, a continued fraction beyond (Abramowitz and
/// Stegun 7.1.5 and 7.1.14), both to 1e-13 and better.
Complex scaled_erfc(double root) {
  const Complex z = std::polar(root, kPi / 4);
  const double x = root * root;
  if (x < 4) {
    Complex term = z, sum = z;
    for (int n = 1; n < 60; ++n) {
      term *= Complex(0, -x / n);
      const Complex next = term / static_cast<double>(2 * n + 1);
      sum += next;
      if (std::norm(next) < 1e-34 * std::norm(sum)) break;
    }
    return std::polar(1.0, x) * (1.0 - sum * (2 / std::sqrt(kPi)));
  }
  const int depth = 6 + static_cast<int>(260 / x);
  Complex fraction = z;
  for (int n = depth; n >= 1; --n) fraction = z + 0.5 * n / fraction;
  return 1.0 / (std::sqrt(kPi) * fraction);
}

/// cot(epsilon / 2n) times the transition function of 2 kL sin^2(epsilon / 2): both ends of the product vanish or
/// grow where epsilon does, what is left is finite. On the boundary itself it is 0, the mean of both sides.
Complex cotangent_term(double epsilon, double n, double kl) {
  const double sine = std::fabs(std::sin(epsilon / 2)), tangent = std::tan(epsilon / (2 * n));
  if (sine == 0 || tangent == 0) return 0;
  const double root = std::sqrt(2 * kl) * sine;
  return std::polar(std::sqrt(kPi) * root / tangent, kPi / 4) * scaled_erfc(root);
}

}  // namespace

Material material_of(WallMaterial walls, double frequency_mhz) {
  const double ghz = frequency_mhz / 1000;
  switch (walls) {
    case WallMaterial::concrete:
      return {5.24, 0.0462 * std::pow(ghz, 0.7822)};
    case WallMaterial::brick:
      return {3.91, 0.0238 * std::pow(ghz, 0.16)};
    case WallMaterial::wood:
      return {1.99, 0.0047 * std::pow(ghz, 1.0718)};
    case WallMaterial::glass:
      return {6.31, 0.0036 * std::pow(ghz, 1.3394)};
    case WallMaterial::metal:
      return {1, 1e7};
    case WallMaterial::perfect:
      break;
  }
  return {1, std::numeric_limits<double>::infinity()};
}

Complex complex_permittivity(const Material& material, double frequency_mhz) {
  constexpr double kVacuum = 8.8541878128e-12;  // F/m, CODATA 2018
  return {material.permittivity, -material.conductivity_s_per_m / (2 * kPi * frequency_mhz * 1e6 * kVacuum)};
}

Complex reflection(Complex permittivity, double cosine, bool parallel) {
  if (std::isinf(permittivity.imag())) return parallel ? 1 : -1;
  const Complex root = std::sqrt(permittivity - (1 - cosine * cosine));
  const Complex first = parallel ? permittivity * cosine : Complex(cosine);
  return (first - root) / (first + root);
}

Complex transition(double x) {
  const double root = std::sqrt(x);
  return std::polar(std::sqrt(kPi) * root, kPi / 4) * scaled_erfc(root);
}

Complex wedge_diffraction(const WedgeRay& ray, double wave_number_per_m, Complex permittivity, bool parallel) {
  const double n = ray.exterior_rad / kPi;
  const double apart = std::fabs(ray.to_rad - ray.from_rad), together = ray.to_rad + ray.from_rad;
  const double sine = ray.sine_to_edge;
  const double kl = wave_number_per_m * ray.from_m * ray.to_m / (ray.from_m + ray.to_m) * sine * sine;
  // Eq. 25 to 29 of Kouyoumjian and Pathak: with the whole number nearest, the distance from each boundary.
  const auto plus = [&](double beta) {
    const double epsilon = beta + kPi;
    return cotangent_term(epsilon - 2 * kPi * n * std::nearbyint(epsilon / (2 * kPi * n)), n, kl);
  };
  const auto minus = [&](double beta) {
    const double epsilon = beta - kPi;
    return -cotangent_term(epsilon - 2 * kPi * n * std::nearbyint(epsilon / (2 * kPi * n)), n, kl);
  };
  // The angle that a reflection between both rays would have: on each boundary of reflection that of the reflection.
  const Complex r = reflection(permittivity, std::fabs(std::cos(apart / 2)) * sine, parallel);
  const Complex sum = minus(apart) + r * r * plus(apart) + r * (minus(together) + plus(together));
  return -std::polar(1 / (2 * n * std::sqrt(2 * kPi * wave_number_per_m) * sine), -kPi / 4) * sum;
}

}  // namespace shakedown::radio::rays
