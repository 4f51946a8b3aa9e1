#include "fluid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "common/error.hpp"

namespace shakedown::lj {
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
  /// Gaussian of mean 0 and variance 1 (Box and Muller, 1958).
  double gauss() {
    const double radius = std::sqrt(-2 * std::log(1 - (*this)()));
    return radius * std::cos(2 * std::numbers::pi * (*this)());
  }

 private:
  std::uint64_t state_;
};

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double square(double x) { return x * x; }

void on_lattice(State& state) {
  const std::size_t n = state.count();
  std::size_t k = 1;
  while (4 * k * k * k < n) ++k;
  const std::size_t sites = 4 * k * k * k;
  const double step = state.length / static_cast<double>(k);
  constexpr double kCorners[4][3] = {{0.25, 0.25, 0.25}, {0.75, 0.75, 0.25}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.75}};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t site = i * sites / n, cell = site / 4;
    const std::size_t across = cell % k, along = cell / k % k, up = cell / k / k;
    const auto* corner = kCorners[site % 4];
    state.x[i] = step * (static_cast<double>(across) + corner[0]);
    state.y[i] = step * (static_cast<double>(along) + corner[1]);
    state.z[i] = step * (static_cast<double>(up) + corner[2]);
  }
}

/// The distance of nearest images along one axis.
double nearest(double d, double length) { return d - length * std::nearbyint(d / length); }

void at_random(State& state, Random& random) {
  constexpr double kNearest = 0.9;
  const auto edge = static_cast<std::size_t>(std::max(1.0, std::floor(state.length / kNearest)));
  std::vector<std::vector<std::uint32_t>> cells(edge * edge * edge);
  const auto along = [&](double x) {
    return std::min(edge - 1, static_cast<std::size_t>(x / state.length * static_cast<double>(edge)));
  };
  for (std::size_t i = 0; i < state.count(); ++i) {
    bool free = false;
    for (int trial = 0; trial < 10'000 && !free; ++trial) {
      const double x = state.length * random(), y = state.length * random(), z = state.length * random();
      free = true;
      for (std::size_t c = 0; c < 27 && free; ++c) {
        const std::size_t cx = (along(x) + edge + c % 3 - 1) % edge, cy = (along(y) + edge + c / 3 % 3 - 1) % edge,
                          cz = (along(z) + edge + c / 9 - 1) % edge;
        for (const auto j : cells[(cz * edge + cy) * edge + cx]) {
          const double r2 = square(nearest(x - state.x[j], state.length)) +
                            square(nearest(y - state.y[j], state.length)) +
                            square(nearest(z - state.z[j], state.length));
          if (r2 < kNearest * kNearest) free = false;
        }
      }
      if (!free) continue;
      state.x[i] = x, state.y[i] = y, state.z[i] = z;
      cells[(along(z) * edge + along(y)) * edge + along(x)].push_back(static_cast<std::uint32_t>(i));
    }
    if (!free) {
      throw cannot("no free place was found for particle " + std::to_string(i) + " of " + std::to_string(state.count()),
                   "use --start fcc, or a lower --density");
    }
  }
}

}  // namespace

State fluid(std::size_t count, double density, double temperature, Start start, std::uint64_t seed) {
  State state;
  state.resize(count);
  state.length = std::cbrt(static_cast<double>(count) / density);
  Random random(seed);
  start == Start::fcc ? on_lattice(state) : at_random(state, random);
  const double n = static_cast<double>(count);
  double square_sum = 0;
  for (auto* column : {&state.vx, &state.vy, &state.vz}) {
    double sum = 0;
    for (double& v : *column) sum += v = random.gauss();
    for (double& v : *column) v -= sum / n;
    for (const double v : *column) square_sum += v * v;
  }
  const double factor = std::sqrt(3 * (n - 1) * temperature / square_sum);
  for (auto* column : {&state.vx, &state.vy, &state.vz}) {
    for (double& v : *column) v *= factor;
  }
  return state;
}

double pair_potential(double r) {
  const double s6 = std::pow(r, -6);
  return 4 * s6 * (s6 - 1);
}

Point point(const Thermo& thermo, const State& state, const Physics& physics) {
  const double n = static_cast<double>(state.count());
  Point found;
  found.temperature = 2 * thermo.kinetic / (3 * (n - 1));  // three of the degrees of freedom are the whole's
  found.potential = thermo.potential / n;
  found.pressure = (2 * thermo.kinetic + thermo.virial) / (3 * state.length * square(state.length));
  found.energy = (thermo.kinetic + thermo.potential - thermo.pairs * pair_potential(physics.cutoff)) / n;
  return found;
}

double longest_step(double temperature) {
  // Two that meet with 5 T along the line between them (one meeting in 150 has more) turn where 4 (s^2 - s) = 5 T, s =
  // r^-6; they swing there with omega^2 = 2 u'', as the reduced mass is 1/2. Velocity Verlet is stable below omega dt =
  // 2, and a fluid meets harder ones now and then. Below T = 1 the depth of the potential, which is 1, is what they
  // meet with: a cold start condenses. Seen over 1,800 steps of 1,500 to 12,000 particles at densities of 0.05 to 1.2:
  // the energy holds up to this step at temperatures of 0.01 to 100, and is lost at two to three
  // times as long a one.
  const double s = (1 + std::sqrt(1 + 5 * std::max(temperature, 1.0))) / 2;
  const double curvature = 24 * (26 * std::pow(s, 14.0 / 6) - 7 * std::pow(s, 8.0 / 6));
  return 2 * std::numbers::pi / std::sqrt(2 * curvature) / 10;
}

Verdict check_forces(const State& state, const Forces& forces, const Physics& physics, Precision precision) {
  constexpr double kLimit = 16;
  const std::size_t n = state.count();
  const std::size_t samples = std::min<std::size_t>({n, 64, std::max<std::size_t>(8, (std::size_t{1} << 24) / n)});
  const double cutoff2 = square(physics.cutoff), eps = epsilon(precision);
  // Places are fractions of the box in 32 bits, and in the double numbers that come from the backend in 53.
  const double step = state.length * (precision == Precision::mixed ? 0x1p-32 : 0x1p-52);
  double worst = 0;
  for (std::size_t sample = 0; sample < samples && !std::isnan(worst); ++sample) {
    const std::size_t i = samples == 1 ? 0 : sample * (n - 1) / (samples - 1);
    long double sum[3] = {}, size = 0, slope = 0, edge = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double d[3] = {nearest(state.x[i] - state.x[j], state.length),
                           nearest(state.y[i] - state.y[j], state.length),
                           nearest(state.z[i] - state.z[j], state.length)};
      const double r2 = square(d[0]) + square(d[1]) + square(d[2]);
      const double near = kLimit * (eps * cutoff2 + step * physics.cutoff);
      if (j == i || r2 >= cutoff2 + near) continue;
      const long double r = std::sqrt(static_cast<long double>(r2)), s3 = 1 / (r * r * r * r * r * r);
      const long double f = 48 * s3 * (s3 - 0.5L) / (r * r);
      if (r2 > cutoff2 - near) edge += std::fabs(f * r);  // so near to the cutoff that rounding decides
      if (r2 >= cutoff2) continue;
      for (int c = 0; c < 3; ++c) sum[c] += f * d[c];
      size += 24 * s3 * (2 * s3 + 1) / r;  // what repels and what attracts, each for itself
      slope += 24 * s3 * (26 * s3 + 7) / (r * r);
    }
    const double found[3] = {forces.x[i], forces.y[i], forces.z[i]};
    const double allowed = static_cast<double>(kLimit * (eps * size + step * slope) + edge);
    for (int c = 0; c < 3 && !std::isnan(worst); ++c) {
      const double value = static_cast<double>(std::fabs(found[c] - sum[c])) / (allowed + 1e-300);
      worst = std::isnan(value) ? value : std::max(worst, value);
    }
  }
  return {worst, "forces " + shown(kLimit * worst) + " of " + shown(kLimit) + " roundings of their terms and places"};
}

double mean_square(const Forces& forces) {
  constexpr std::size_t kBlocks = 15;
  double sums[kBlocks] = {}, counts[kBlocks] = {};
  for (std::size_t i = 0; i < forces.x.size(); ++i) {
    const double one = square(forces.x[i]) + square(forces.y[i]) + square(forces.z[i]);
    sums[i % kBlocks] += std::isfinite(one) ? one : 0;
    counts[i % kBlocks] += 1;
  }
  for (std::size_t k = 0; k < kBlocks; ++k) sums[k] /= std::max(counts[k], 1.0);
  std::nth_element(sums, sums + kBlocks / 2, sums + kBlocks);
  return sums[kBlocks / 2];
}

Verdict check_energy(const std::vector<double>& energies, std::int64_t steps, double temperature, const State& state,
                     const Physics& physics, double force2) {
  // What velocity Verlet conserves differs from the energy by terms in dt^2. They swing with the fluid, by 0.003 T /
  // sqrt(N) at dt = 0.005 (seen over N = 500 to 64,000), and move by up to 7e-5 T while a lattice melts; ten and four
  // times that are allowed. A drift was not seen over 20,000 steps; a tenth of a per mille of T in 5,000 steps is
  // allowed.
  // The force jumps at the cutoff, so that each pair which crosses it errs by at most that jump times the way of one
  // step, in no one direction: that counts where the cutoff is short.
  const double rough = square(physics.dt / 0.005) * temperature, n = static_cast<double>(state.count());
  const double taken = static_cast<double>(energies.size() - 1) * static_cast<double>(steps);
  const double way = std::sqrt(temperature) * physics.dt, s6 = std::pow(physics.cutoff, -6);
  const double jump = std::fabs(48 * s6 * (s6 - 0.5) / physics.cutoff) * way;
  const double density = n / (state.length * square(state.length));
  const double crossings = 4 * std::numbers::pi * square(physics.cutoff) * density * way * taken;  // of a particle
  // Those terms are dt^2 F^2 / 24 of a particle in the mean (E. Hairer, C. Lubich, G. Wanner, Acta Numerica 12, 399,
  // 2003, section 4). Dense and hot fluids have more of them than T says: seen are changes up to the whole where the
  // temperature moves, and up to 60 / sqrt(N) of it where hard meetings are few.
  const double whole = physics.dt * physics.dt * force2 / 24;
  const double swing = std::max((0.03 / std::sqrt(n) + 3e-4) * rough, (1 + 100 / std::sqrt(n)) * whole);
  const double bound = swing + 2e-8 * taken * rough + 3 * jump * std::sqrt(crossings / n);
  double change = 0;
  for (const double energy : energies) {
    const double one = std::fabs(energy - energies.front());
    change = std::isnan(one) ? one : std::max(change, one);
    if (std::isnan(change)) break;
  }
  return {change / bound, "energy changed by " + shown(change) + " of " + shown(bound) + " allowed each, " +
                              shown(change / taken) + " a step"};
}

Verdict check_momentum(const Thermo& thermo, std::int64_t steps, std::size_t count, const Physics& physics,
                       Precision precision) {
  const double found = std::hypot(thermo.px, thermo.py, thermo.pz);
  // Each force errs by some roundings of its terms, about 100 in size, in no one direction: 50 such errors a particle
  // and step are seen, and 400 allowed. At the start the momentum is zero but for the rounding of a sum.
  const double n = static_cast<double>(count);
  const double bound =
      epsilon(precision) * 400 * physics.dt * std::sqrt(n * static_cast<double>(steps + 1)) + 1e-14 * n;
  return {found / bound, "momentum is " + shown(found) + " of " + shown(bound) + " allowed"};
}

Residual residual(const std::vector<Verdict>& verdicts) {
  Residual found{0, 1, ""};
  for (const auto& verdict : verdicts) {
    if (!std::isnan(found.value)) {
      found.value = std::isnan(verdict.value) ? verdict.value : std::max(found.value, verdict.value);
    }
    found.kind += (found.kind.empty() ? "largest over its bound: " : "; ") + verdict.words;
  }
  return found;
}

void write_lammps(const State& state, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw cannot("cannot write " + path, "give --write a path in a folder that is there");
  std::fprintf(file, "Lennard-Jones fluid\n\n%zu atoms\n1 atom types\n\n", state.count());
  for (const char axis : {'x', 'y', 'z'}) std::fprintf(file, "0 %.17g %clo %chi\n", state.length, axis, axis);
  std::fprintf(file, "\nMasses\n\n1 1\n\nAtoms # atomic\n\n");
  for (std::size_t i = 0; i < state.count(); ++i) {
    std::fprintf(file, "%zu 1 %.17g %.17g %.17g\n", i + 1, state.x[i], state.y[i], state.z[i]);
  }
  std::fprintf(file, "\nVelocities\n\n");
  for (std::size_t i = 0; i < state.count(); ++i) {
    std::fprintf(file, "%zu %.17g %.17g %.17g\n", i + 1, state.vx[i], state.vy[i], state.vz[i]);
  }
  const bool bad = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || bad) throw cannot("cannot write all of " + path, "is the file system full?");
}

}  // namespace shakedown::lj
