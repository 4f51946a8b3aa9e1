// What must be true of the loops on devices: the physics that the CPU's are held to, each shape, each division of the
// sources. On the host backend, and through the driver's interface on a fake one with room for many blocks at once.
#include "nbody/physics_test.hpp"

#include <bit>

#include "gpu_nbody.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::gpu_nbody {
namespace {

using nbody::Bodies;
using nbody::Field;
using nbody::Physics;

nbody::Make on(gpu::Device& device, const std::string& shape) {
  return [&device, shape](Precision precision, const Physics& physics, std::size_t n) {
    return make_gpu(device, precision, physics, n, shape);
  };
}

constexpr Precision kBoth[] = {Precision::single, Precision::both_double};

void right_everywhere(Checks& checks, gpu::Device& host, gpu::Device& fake) {
  for (const Precision precision : kBoth) {
    nbody::one_pair(checks, on(host, "auto"), "host", precision, 10);
    for (const Shape& shape : shapes_of("auto", precision)) {
      nbody::right(checks, on(host, shape.word), std::string("host ").append(shape.word), precision, 300);
    }
    nbody::right(checks, on(fake, "r4u4"), "fake, sources divided", precision, 515);
  }
  nbody::steps_are_leapfrog(checks, on(host, "r1u8"));
  nbody::steps_are_leapfrog(checks, on(fake, "r4u4"));
  nbody::wrong_is_found(checks, on(fake, "r4u4"));
}

bool same(const std::vector<double>& one, const std::vector<double>& other) {
  bool equal = one.size() == other.size();
  for (std::size_t i = 0; equal && i < one.size(); ++i) {
    equal = std::bit_cast<std::uint64_t>(one[i]) == std::bit_cast<std::uint64_t>(other[i]);
  }
  return equal;
}

/// The same to the bit: twice on one device, and in shapes that take the sources in the same parts.
void repeatable(Checks& checks, gpu::Device& device) {
  const Bodies bodies = nbody::plummer(1200, 3);
  for (const Precision precision : kBoth) {
    if (kSanitized && precision == Precision::single) continue;  // it compares numbers
    Bodies first;
    const std::string own = precision == Precision::single ? "r8u2" : "r2u4";
    for (const std::string& shape : {own, std::string("r4u4"), std::string("r4u4")}) {
      const auto backend = make_gpu(device, precision, {}, bodies.count(), shape);
      checks.equal(backend->shape(), shape + ", 3 parts", "1200 bodies are three tiles");
      backend->load(bodies);
      backend->evaluate();
      backend->advance(kSanitized ? 1 : 3);
      Bodies after;
      backend->store(after);
      if (first.count() == 0) {
        first = after;
        first.m = bodies.m;
      }
      checks.that(same(first.x, after.x) && same(first.vz, after.vz),
                  shape + ' ' + nbody::word(precision) + " is the same to the bit");
    }
  }
}

/// Bodies that fill up the last tile are nowhere to be seen: a far sphere feels the same alone and among them.
void filling_is_nothing(Checks& checks, gpu::Device& device) {
  Bodies two;
  two.resize(2);
  two.x = {100, 101};
  two.y = {100, 100};
  two.z = {-50, -50};
  two.m = {0.5, 0.5};
  const auto backend = make_gpu(device, Precision::both_double, {}, 2, "r2u4");
  backend->load(two);
  backend->evaluate();
  backend->advance(50);
  const Field field = backend->evaluate();
  Bodies after = two;
  backend->store(after);
  checks.that(std::fabs(after.x[0] + after.x[1] - 201) < 1e-12 && after.y[0] == 100 && after.z[1] == -50,
              "two bodies fall towards each other alone");
  checks.that(field.ax[0] > 0 && field.ax[1] < 0, "each towards the other");
}

void divided(Checks& checks) {
  const auto is = [&](unsigned blocks, unsigned tiles, unsigned resident, unsigned most, const std::string& why) {
    const Split found = split(blocks, tiles, resident, most);
    checks.that(found.parts >= 1 && found.parts <= std::max(1U, most) && found.each >= 1, why + ": within bounds");
    checks.that((found.parts - 1) * found.each < tiles && found.parts * found.each >= tiles, why + ": every tile once");
    return found;
  };
  checks.equal(is(64, 128, 264, 64, "65536 bodies on 264 places").parts, 4U, "64 x 4 of 264 places are one round");
  checks.equal(is(264, 2048, 264, 64, "as many blocks as places").parts, 1U, "no division where all are busy");
  checks.equal(is(1, 2, 264, 64, "few bodies").parts, 2U, "each tile is a part");
  checks.equal(is(1024, 2048, 264, 1, "no memory for parts").parts, 1U, "not more than fit");
  for (unsigned blocks = 1; blocks < 3000; blocks += 37) is(blocks, 2 * blocks, 264, 10, std::to_string(blocks));
  checks.that(device_bytes(1 << 20, Precision::single) < (std::uint64_t{400} << 20), "a million bodies need < 400 MiB");
  checks.that(device_bytes(1 << 30, Precision::both_double) > (std::uint64_t{100} << 30), "2^30 need much");
}

}  // namespace
}  // namespace shakedown::gpu_nbody

int main() {
  using namespace shakedown;
  using namespace shakedown::gpu_nbody;
  Checks checks;
  const auto hosts = gpu::open({"host", "all", "", ""});
  const auto fakes = gpu::open({"cuda", "all", FAKE_DRIVER, ""});
  divided(checks);
  right_everywhere(checks, *hosts.front(), *fakes.front());
  repeatable(checks, *fakes.front());
  filling_is_nothing(checks, *hosts.front());
  return checks.end();
}
