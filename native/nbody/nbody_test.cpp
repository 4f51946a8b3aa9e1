// What must be true of the bodies, the forces and the steps, in every instruction set that runs here.
#include <algorithm>
#include <cmath>

#include "bodies.hpp"
#include "common/isa.hpp"
#include "cpu.hpp"
#include "physics_test.hpp"
#include "testing/check.hpp"

namespace shakedown::nbody {
namespace {

void sphere(Checks& checks) {
  const Bodies bodies = plummer(4000, 1);
  double mass = 0, kinetic = 0, farthest = 0;
  for (std::size_t i = 0; i < bodies.count(); ++i) {
    mass += bodies.m[i];
    kinetic +=
        bodies.m[i] * (bodies.vx[i] * bodies.vx[i] + bodies.vy[i] * bodies.vy[i] + bodies.vz[i] * bodies.vz[i]) / 2;
    farthest = std::max(farthest, std::hypot(bodies.x[i], bodies.y[i], bodies.z[i]));
  }
  checks.that(std::fabs(mass - 1) < 1e-12, "the mass is 1");
  // In these units a sphere in balance has kinetic energy 1/4; ours has half of that.
  checks.that(std::fabs(kinetic - 0.125) < 0.01, "half the kinetic energy of balance: " + std::to_string(kinetic));
  checks.that(farthest < 10 * 0.59, "cut at ten lengths");
}

}  // namespace
}  // namespace shakedown::nbody

int main() {
  using namespace shakedown;
  using namespace shakedown::nbody;
  Checks checks;
  const int cpu = allowed_cpus().front();
  Team one({cpu}), three({cpu, cpu, cpu});
  const auto on = [](Team& team, const Isa& isa) -> Make {
    return [&](Precision precision, const Physics& physics, std::size_t n) {
      return make_cpu(team, isa, precision, physics, n);
    };
  };
  sphere(checks);
  for (const auto* isa : isas_here()) {
    for (const Precision precision : {Precision::single, Precision::both_double}) {
      one_pair(checks, on(one, *isa), isa->name, precision);
      right(checks, on(one, *isa), isa->name, precision, 515);
      right(checks, on(three, *isa), std::string(isa->name) + " 3 threads", precision, 1700);
    }
  }
  steps_are_leapfrog(checks, on(one, *isas_here().front()));
  wrong_is_found(checks, on(one, *isas_here().front()));
  return checks.end();
}
