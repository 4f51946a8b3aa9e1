#include "bodies.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shakedown::nbody {
namespace {

/// Uniform numbers below 1 by SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

constexpr double kLength = 3 * std::numbers::pi / 16;

/// A point on a sphere of this radius.
void on_sphere(Random& random, double radius, double& x, double& y, double& z) {
  z = (1 - 2 * random()) * radius;
  const double around = 2 * std::numbers::pi * random(), flat = std::sqrt(std::max(0.0, radius * radius - z * z));
  x = flat * std::cos(around);
  y = flat * std::sin(around);
}

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double square(double x) { return x * x; }

}  // namespace

Bodies plummer(std::size_t count, std::uint64_t seed) {
  Bodies bodies;
  bodies.resize(count);
  Random random(seed);
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double radius = 0;
    do {
      radius = kLength / std::sqrt(std::pow(std::max(random(), 1e-12), -2.0 / 3) - 1);
    } while (!(radius < 10 * kLength));
    on_sphere(random, radius, bodies.x[i], bodies.y[i], bodies.z[i]);
    // The speed over the escape speed q has the density q^2 (1 - q^2)^(7/2), whose largest value is below 0.1.
    double q = 0;
    do {
      q = random();
    } while (0.1 * random() > q * q * std::pow(1 - q * q, 3.5));
    const double escape = std::sqrt(2.0) * std::pow(square(radius) + square(kLength), -0.25);
    on_sphere(random, q * escape / std::sqrt(2.0), bodies.vx[i], bodies.vy[i], bodies.vz[i]);
    bodies.m[i] = static_cast<double>(1 + i % 3);
    total += bodies.m[i];
  }
  for (double& m : bodies.m) m /= total;
  return bodies;
}

namespace {
/// The square of the highest angular rate: at most what a ball of all the mass as dense as the middle (M / a^3), ten
/// times contracted, and one heavy neighbour within the softening (m / eps^3) make.
double shortest_orbit_rate2(double heaviest, double softening) {
  return 10 / (kLength * kLength * kLength) + 2 * heaviest / std::pow(softening, 3);
}
}  // namespace

double longest_step(std::size_t bodies, double softening) {
  // An eighth of the shortest period, omega dt = pi / 4. There the bound of check_energy, omega^2 dt^2 / 6 of the
  // kinetic energy, is a tenth of it; it grows with dt^2, and at omega dt = 2 leapfrog itself is no longer stable.
  const auto n = static_cast<double>(bodies), in_turn = static_cast<double>(bodies % 3);
  const double total = 2 * (n - in_turn) + in_turn * (in_turn + 1) / 2;  // masses are 1, 2, 3 in turn, before scaling
  return std::numbers::pi / 4 / std::sqrt(shortest_orbit_rate2(std::min(n, 3.0) / total, softening));
}

Ledger ledger(const Bodies& bodies, const Field& field) {
  Ledger sums;
  for (std::size_t i = 0; i < bodies.count(); ++i) {
    const double m = bodies.m[i];
    const double a2 = square(field.ax[i]) + square(field.ay[i]) + square(field.az[i]);
    sums.kinetic += m * (square(bodies.vx[i]) + square(bodies.vy[i]) + square(bodies.vz[i])) / 2;
    sums.potential += m * field.phi[i] / 2;
    sums.px += m * bodies.vx[i];
    sums.py += m * bodies.vy[i];
    sums.pz += m * bodies.vz[i];
    sums.force2 += m * a2;
    sums.push += m * std::sqrt(a2);
    sums.heaviest = std::max(sums.heaviest, m);
  }
  return sums;
}

Verdict check_forces(const Bodies& bodies, const Field& field, const Physics& physics, Precision precision) {
  const std::size_t n = bodies.count();
  const std::size_t samples = std::min<std::size_t>({n, 64, std::max<std::size_t>(8, (std::size_t{1} << 24) / n)});
  // eps^2 is rounded to the backend's precision there, so it is here.
  const long double eps2 = precision == Precision::single ? static_cast<float>(physics.softening * physics.softening)
                                                          : physics.softening * physics.softening;
  double worst = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t i = samples == 1 ? 0 : sample * (n - 1) / (samples - 1);
    long double sum[3] = {}, size[3] = {};
    for (std::size_t j = 0; j < n; ++j) {
      const long double d[3] = {static_cast<long double>(bodies.x[j]) - bodies.x[i],
                                static_cast<long double>(bodies.y[j]) - bodies.y[i],
                                static_cast<long double>(bodies.z[j]) - bodies.z[i]};
      const long double s = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps2;
      const long double f = bodies.m[j] / (s * std::sqrt(s));
      for (int c = 0; c < 3; ++c) {
        sum[c] += f * d[c];
        size[c] += std::fabs(f * d[c]);
      }
    }
    const double found[3] = {field.ax[i], field.ay[i], field.az[i]};
    for (int c = 0; c < 3; ++c) {
      const double scale = static_cast<double>(size[c]) * epsilon(precision) + 1e-300;
      const double error = static_cast<double>(std::fabs(found[c] - sum[c])) / scale;
      worst = std::isnan(error) ? error : std::max(worst, error);
      if (std::isnan(worst)) break;
    }
    if (std::isnan(worst)) break;
  }
  constexpr double kLimit = 16;
  return {worst / kLimit, "forces " + shown(worst) + " of " + shown(kLimit) + " roundings of their terms"};
}

Verdict check_energy(const Ledger& before, const Ledger& after, std::int64_t steps, const Physics& physics,
                     Precision precision) {
  // Leapfrog conserves H + dt^2 (sum of m v.(dF/dx).v / 12 - sum of m a^2 / 24) up to terms in dt^4, so the energy
  // swings by at most the change of that. v.(dF/dx).v is below omega^2 v^2, omega that of the shortest orbit.
  const double omega2 = shortest_orbit_rate2(after.heaviest, physics.softening);
  const double swing =
      (std::max(before.force2, after.force2) / 24 + omega2 * 2 * std::max(before.kinetic, after.kinetic) / 12) *
      physics.dt * physics.dt;
  // Places and velocities are rounded at every step, each by half an epsilon of theirs and in no one direction;
  // potentials are sums whose terms err by a few epsilons.
  const double size = before.kinetic + after.kinetic - before.potential - after.potential;
  const double rounding = epsilon(precision) * size * (4 + std::sqrt(static_cast<double>(steps)));
  const double change = std::fabs(after.energy() - before.energy());
  const double bound = swing + rounding;
  return {change / bound, "energy changed by " + shown(change / std::fabs(before.energy())) + " of " +
                              shown(bound / std::fabs(before.energy())) + " allowed, relative"};
}

Verdict check_momentum(const Ledger& before, const Ledger& after, std::int64_t steps, const Physics& physics,
                       Precision precision) {
  const double change = std::hypot(after.px - before.px, after.py - before.py, after.pz - before.pz);
  // Each force errs by a few roundings of its terms, whose sizes add up to some times the force; velocities are rounded
  // at every half step. Errors are of no one direction within a step.
  const double time = static_cast<double>(steps) * physics.dt;
  const double speed = std::sqrt(2 * std::max(before.kinetic, after.kinetic));  // total mass 1
  const double bound = epsilon(precision) * (16 * time * std::max(before.push, after.push) +
                                             speed * std::sqrt(static_cast<double>(2 * steps)));
  return {change / bound, "momentum changed by " + shown(change) + " of " + shown(bound) + " allowed"};
}

Residual residual(const std::vector<Verdict>& verdicts) {
  Residual found{0, 1, ""};
  for (const auto& verdict : verdicts) {
    found.value = std::isnan(verdict.value) ? verdict.value : std::max(found.value, verdict.value);
    found.kind += (found.kind.empty() ? "largest over its bound: " : "; ") + verdict.words;
    if (std::isnan(found.value)) break;
  }
  return found;
}

}  // namespace shakedown::nbody
