// What must be true of the fluid on a device, by the kernels' own source on the host backend.
#include "lj/fluid.hpp"

#include <algorithm>
#include <cmath>

#include "gpu/program.hpp"
#include "gpu_lj.hpp"
#include "lj/testing.hpp"
#include "tasks.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::gpu_lj {
namespace {

using lj::Forces;
using lj::near;
using lj::nearest;
using lj::Physics;
using lj::Precision;
using lj::Start;
using lj::State;
using lj::Thermo;

constexpr std::size_t kLarge = kSanitized ? 400 : 700;
constexpr int kSteps = kSanitized ? 4 : 20;

gpu::Device& device() {
  static const auto devices = [] {
    gpu::Choice choice;
    choice.backend = "host";
    choice.devices = "all";
    return gpu::open(choice);
  }();
  return *devices.front();
}

/// Forces, sums and a stretch of steps, with so many threads to a particle.
void right(Checks& checks, Precision precision, int lanes, std::size_t n, Start start) {
  const std::string who =
      std::string(lj::word(precision)) + " " + std::to_string(lanes) + " lanes " + std::to_string(n) + " particles";
  const Physics physics;
  const State begin = lj::fluid(n, 0.382, 1.2, start, 7);
  const auto fluid = make_fluid(device(), precision, physics, n);
  fluid->set_lanes(lanes);
  fluid->set_skin(0.3);
  fluid->load(begin);
  State state;
  Forces forces;
  fluid->store(state, forces);
  const double eps = epsilon(precision);
  double moved = 0, sped = 0;
  for (std::size_t i = 0; i < n; ++i) {
    moved = std::max(moved, std::fabs(nearest(state.x[i] - begin.x[i], begin.length)));
    sped = std::max(sped, std::fabs(state.vz[i] - begin.vz[i]));
  }
  checks.that(moved < 1e-14 * begin.length, who + ": places are kept as they were given");
  checks.that(sped < 1e-12, who + ": velocities too, half a step back and forth");
  std::vector<double> energies;
  for (int part = 0; part < 3; ++part) {
    fluid->store(state, forces);
    checks.that(check_forces(state, forces, physics, precision).value <= 1,
                who + ": " + check_forces(state, forces, physics, precision).words);
    Forces all;
    const Thermo found = fluid->thermo(), expected = all_pairs(state, physics.cutoff, &all);
    double worst = 0, most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      worst = std::max(worst, std::fabs(forces.y[i] - all.y[i]));
      most = std::max(most, std::fabs(all.y[i]));
    }
    checks.that(worst <= 100 * eps * most, who + ": the forces on all of them");
    checks.that(near(found.potential, expected.potential, 100 * eps), who + ": potential");
    checks.that(std::fabs(found.virial - expected.virial) < 3000 * eps * std::fabs(expected.potential),
                who + ": virial");
    checks.that(near(found.kinetic, expected.kinetic, 1e-12), who + ": kinetic energy");
    checks.that(std::fabs(found.pairs - expected.pairs) <= (precision == Precision::mixed ? 2 : 0), who + ": pairs");
    checks.that(check_momentum(found, std::int64_t{kSteps} * part, n, physics, precision).value <= 1,
                who + ": momentum");
    checks.that(fluid->advance(kSteps) > 0, who + ": steps take time");
    energies.push_back(point(fluid->thermo(), state, physics).energy);
  }
  const double temperature = point(fluid->thermo(), state, physics).temperature;
  checks.that(check_energy(energies, kSteps, temperature, state, physics).value <= 1, who + ": energy");
}

double farthest(const State& one, const State& other) {
  double worst = 0;
  for (std::size_t i = 0; i < one.count(); ++i) {
    worst = std::max({worst, std::fabs(nearest(one.x[i] - other.x[i], one.length)),
                      std::fabs(nearest(one.y[i] - other.y[i], one.length)),
                      std::fabs(nearest(one.z[i] - other.z[i], one.length)), std::fabs(one.vz[i] - other.vz[i])});
  }
  return worst;
}

/// Steps against velocity Verlet, while particles cross the walls of the box and lists are made anew.
void steps_are_velocity_verlet(Checks& checks) {
  const Physics physics;
  State state = lj::fluid(500, 0.382, 6, Start::random, 3);
  const State begin = state;
  const auto fluid = make_fluid(device(), Precision::both_double, physics, state.count());
  fluid->set_lanes(2);
  fluid->set_skin(0.2);
  fluid->load(state);
  verlet(state, physics, kSteps + 10);
  fluid->advance(kSteps + 10);
  State found;
  Forces ignored;
  fluid->store(found, ignored);
  checks.that(farthest(found, state) < 1e-9,
              "steps are those of velocity Verlet: off by " + std::to_string(farthest(found, state)));
  std::size_t crossed = 0;
  for (std::size_t i = 0; i < begin.count(); ++i) crossed += std::fabs(found.x[i] - begin.x[i]) > begin.length / 2;
  checks.that(crossed > 0, "particles crossed the walls: " + std::to_string(crossed));
  checks.that(fluid->counters().json().text.find("\"rebuilds\":1,") == std::string::npos, "and lists were made anew");
}

/// What was computed depends neither on the number of blocks nor on who came first; only sums over threads of a
/// particle differ.
void the_same_again(Checks& checks) {
  State first;
  for (int turn = 0; turn < 2; ++turn) {
    const auto fluid = make_fluid(device(), Precision::mixed, Physics{}, 400, {.threads = turn == 0 ? 64U : 32U});
    fluid->set_lanes(4);
    fluid->set_skin(0.3);
    fluid->load(lj::fluid(400, 0.382, 1.2, Start::random, 5));
    fluid->advance(kSteps);
    State state;
    Forces forces;
    fluid->store(state, forces);
    if (turn == 0) first = state;
    checks.that(farthest(first, state) == 0, "the same bits from blocks of another size");
  }
}

/// A list without room is given some, and nothing is lost by it.
void lists_that_overflow(Checks& checks) {
  State states[2];
  for (int turn = 0; turn < 2; ++turn) {
    const auto fluid = make_fluid(device(), Precision::both_double, Physics{}, 500, {.room = turn == 0 ? 0U : 16U});
    fluid->set_lanes(turn == 0 ? 1 : 4);
    fluid->set_skin(0.2);
    fluid->load(lj::fluid(500, 0.382, 1.2, Start::fcc, 5));
    fluid->advance(kSteps);
    Forces forces;
    fluid->store(states[turn], forces);
    const std::string facts = fluid->counters().json().text;
    const bool repaired = facts.find("\"lists_made_longer\":0,") == std::string::npos;
    checks.equal(repaired, turn == 1, "lists were too short: " + facts);
    checks.that(check_forces(states[turn], forces, Physics{}, Precision::both_double).value <= 1,
                "all pairs are found");
  }
  checks.that(farthest(states[0], states[1]) < 1e-9, "the steps are those of lists with room");
}

/// A box that is nearly too small, one that is, and a thin gas, whose cells are fewer than its lists would allow.
void boxes(Checks& checks) {
  const Physics physics;
  State state = lj::fluid(400, 0.382, 1.2, Start::random, 3);  // edge 10.15
  const auto fluid = make_fluid(device(), Precision::both_double, physics, 400);
  fluid->set_skin(0.38);
  fluid->load(state);
  checks.that(near(fluid->thermo().potential, all_pairs(state, 3).potential, 1e-12), "a small box");
  checks.throws<Error>([&] { fluid->set_skin(0.39); }, "a box too small for that skin");
  const auto small = make_fluid(device(), Precision::mixed, physics, 100);
  checks.throws<Error>([&] { small->load(lj::fluid(100, 0.382, 1.2, Start::fcc, 3)); }, "a box too small");
  State thin = lj::fluid(300, 1e-3, 1.2, Start::random, 3);
  const auto gas = make_fluid(device(), Precision::both_double, physics, 300);
  gas->load(thin);
  const Thermo expected = all_pairs(thin, 3);
  checks.equal(gas->thermo().pairs, expected.pairs, "a thin gas has the pairs that it has");
  gas->advance(10);
  verlet(thin, physics, 10);
  State found;
  Forces forces;
  gas->store(found, forces);
  checks.that(farthest(found, thin) < 1e-9, "and moves as it should");
}

/// A drop in a wide box: its lists are longer than the mean density promises, and most groups of particles are in few
/// cells.
void drop(Checks& checks) {
  State state = lj::fluid(500, 0.8, 1, Start::fcc, 3);
  state.length *= 3;
  for (auto* column : {&state.x, &state.y, &state.z}) {
    for (double& at : *column) at = std::fmod(at + 0.9 * state.length, state.length);  // across the walls
  }
  const auto fluid = make_fluid(device(), Precision::both_double, Physics{}, 500, {.threads = 32});
  fluid->load(state);
  checks.that(near(fluid->thermo().potential, all_pairs(state, 3).potential, 1e-12), "the potential of a drop");
  checks.that(fluid->counters().json().text.find("\"lists_made_longer\":0,") == std::string::npos,
              "lists were too short");
  fluid->advance(kSteps);
  verlet(state, Physics{}, kSteps);
  State found;
  Forces forces;
  fluid->store(found, forces);
  checks.that(farthest(found, state) < 1e-9, "and its steps");
}

/// More steps than one launch takes.
void many_steps(Checks& checks) {
  const Physics physics{.cutoff = 2};
  State state = lj::fluid(200, 0.3, 1.2, Start::random, 9);
  const auto fluid = make_fluid(device(), Precision::mixed, physics, 200, {.threads = 32, .slice = 8});
  fluid->set_lanes(1);
  fluid->set_skin(0.4);
  fluid->load(state);
  fluid->advance(kSteps);
  std::vector<double> energies{point(fluid->thermo(), state, physics).energy};
  fluid->advance(std::int64_t{5} * kSteps);
  energies.push_back(point(fluid->thermo(), state, physics).energy);
  const double temperature = point(fluid->thermo(), state, physics).temperature;
  const auto verdict = check_energy(energies, std::int64_t{5} * kSteps, temperature, state, physics);
  checks.that(verdict.value <= 1, "steps of several launches: " + verdict.words);
}

void wrong_is_found(Checks& checks) {
  Physics physics;
  physics.force_factor = 1.01;
  State state = lj::fluid(1000, 0.8, 1.5, Start::fcc, 7);
  physics.cutoff = 2.5;
  const auto fluid = make_fluid(device(), Precision::mixed, physics, state.count());
  fluid->set_lanes(1);
  fluid->set_skin(0.3);
  fluid->load(state);
  Forces forces;
  fluid->store(state, forces);
  checks.that(check_forces(state, forces, physics, Precision::mixed).value > 1, "forces 1 % too large are found");
  std::vector<double> energies{point(fluid->thermo(), state, physics).energy};
  fluid->advance(kSteps + 10);
  energies.push_back(point(fluid->thermo(), state, physics).energy);
  checks.that(check_energy(energies, kSteps + 10, 1.5, state, physics).value > 1,
              "and their energy, which is not conserved");
  const double kinetic = fluid->thermo().kinetic;
  fluid->scale_velocities(2);
  checks.that(near(fluid->thermo().kinetic, 4 * kinetic, 0.05), "velocities are scaled");
}

}  // namespace
}  // namespace shakedown::gpu_lj

int main() {
  using namespace shakedown;
  using namespace shakedown::gpu_lj;
  Checks checks;
  for (const lj::Precision precision : {lj::Precision::mixed, lj::Precision::both_double}) {
    for (const int lanes : kLanes) {
      if (kSanitized && lanes != (precision == lj::Precision::mixed ? 4 : 1)) continue;
      right(checks, precision, lanes, lanes == 4 ? kLarge : 381, lj::Start::random);
    }
  }
  steps_are_velocity_verlet(checks);
  the_same_again(checks);
  lists_that_overflow(checks);
  boxes(checks);
  drop(checks);
  many_steps(checks);
  wrong_is_found(checks);
  return checks.end();
}
