// What must be true of the losses that the kernels find, run on the host from their own source: those of the plain
// form in double over terrain of several kinds, the same links after radios moved, and nothing else touched.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "common/error.hpp"
#include "gpu/host.hpp"
#include "gpu_path_loss.hpp"
#include "profile.cuh"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace shakedown::gpu_path_loss {
namespace {

using radio::Ground;
using radio::Radios;

constexpr int kSide = 200;

/// Terrain by a formula of column and row, in decimetres.
Ground ground_of(const std::function<double(int, int)>& height_m) {
  std::vector<std::int16_t> numbers;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      numbers.push_back(static_cast<std::int16_t>(std::lround(10 * height_m(column, row))));
    }
  }
  return {numbers, kSide, kSide, 0.1, 5};
}

Ground hills(double relief_m) {
  const radio::Terrain terrain = radio::synthetic_terrain(11, kSide, 30, relief_m);
  const auto heights = terrain.heights_m();
  return ground_of([&](int column, int row) {
    return static_cast<double>(
        heights[static_cast<std::size_t>(row) * static_cast<std::size_t>(kSide) + static_cast<std::size_t>(column)]);
  });
}

struct Kind {
  const char* name;
  Ground ground;
};
std::vector<Kind> kinds() {
  std::vector<Kind> all;
  all.push_back({"hills", hills(600)});
  all.push_back({"low hills", hills(20)});
  all.push_back({"mountains", hills(3000)});
  all.push_back({"sea", ground_of([](int, int) { return 0.0; })});
  all.push_back({"a ramp", ground_of([](int column, int row) { return 2.0 * column + 1.0 * row; })});
  all.push_back({"terraces", ground_of([](int column, int row) { return 40.0 * ((column / 20 + row / 30) % 3); })});
  all.push_back({"ridges", ground_of([](int column, int) { return column % 25 == 0 ? 150.0 : 0.0; })});
  return all;
}

Radios random_places(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(0, kSide - 1);
  Radios radios;
  for (std::size_t i = 0; i < count; ++i) {
    radios.x.push_back(draw(random));
    radios.y.push_back(draw(random));
  }
  return radios;
}

Setup setup_of(const Ground& ground, Precision precision, int points, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  Setup setup{ground, draw(20, 200), {}, draw(1, 1) * std::pow(10, draw(0, 1.5)), points, precision};
  setup.setting.frequency_mhz = std::pow(10, draw(std::log10(30), std::log10(10e3)));
  setup.setting.climate = 1 + static_cast<int>(seed % 7);
  setup.setting.polarization = seed % 2 == 0 ? radio::Polarization::vertical : radio::Polarization::horizontal;
  return setup;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> found_by(gpu::Device& device, const Setup& setup, const Radios& radios) {
  const auto losses = make_losses(device, setup, radios.count());
  losses->place(radios);
  losses->find_all();
  return losses->fetch_db();
}

/// The loss of one link by the plain form of the model, in double from the profile on; NaN where there is none.
double plain_loss_db(const Setup& setup, const Radios& radios, std::size_t from, std::size_t to) {
  const radio::Route route =
      radio::straight_route(radios.x[from], radios.y[from], radios.x[to], radios.y[to], setup.step_m, setup.antenna_m);
  if (!(route.length_m > 0)) return std::nan("");
  const std::vector<double> profile = radio::profile_of(setup.ground, route, setup.points);
  return radio::point_to_point(setup.setting, setup.antenna_m, setup.antenna_m, profile,
                               route.length_m / (setup.points - 1))
      .loss_db;
}

/// How far losses are from those of the plain form, but for their own rounding.
struct Against {
  double worst_db = 0;
  std::size_t links = 0, above = 0;  // 0.05 dB
  void add(double loss_db, double right_db) {
    ++links;
    const bool no_loss = std::isnan(loss_db) && std::isnan(right_db);
    const double off = no_loss ? 0 : std::fmax(0, std::fabs(loss_db - right_db) - 0x1p-24 * std::fabs(right_db));
    if (std::isnan(loss_db) != std::isnan(right_db) || off > 0.05) ++above;
    worst_db = std::fmax(worst_db, std::isnan(off) ? INFINITY : off);
  }
};

void add_all(Against& against, const Setup& setup, const Radios& radios, const std::vector<float>& losses) {
  std::size_t link = 0;
  for (std::size_t from = 0; from < radios.count(); ++from) {
    for (std::size_t to = from + 1; to < radios.count(); ++to) {
      against.add(static_cast<double>(losses[link++]), plain_loss_db(setup, radios, from, to));
    }
  }
}

/// Both precisions over every kind of terrain, with settings drawn at random; under a sanitizer a round for each kind.
void right(Checks& checks, gpu::Device& device, std::size_t radios, std::uint64_t rounds) {
  for (const Precision precision : {Precision::fp64, Precision::fp32}) {
    Against all;
    std::uint64_t next = 0;
    for (const Kind& kind : kinds()) {
      Against here;
      const std::uint64_t first = kSanitized ? ++next % rounds : 0, end = kSanitized ? first + 1 : rounds;
      for (std::uint64_t round = first; round < end; ++round) {
        const int points[] = {500, 61, 251, 33, 1001, 2, 4, 12};
        const Setup setup = setup_of(kind.ground, precision, points[round % std::size(points)], 31 * round + 7);
        const Radios places = random_places(round + 1, radios);
        add_all(here, setup, places, found_by(device, setup, places));
      }
      std::fprintf(stderr, "%s %s: %zu links, worst %.3g dB, %zu above 0.05 dB\n", radio::word(precision), kind.name,
                   here.links, here.worst_db, here.above);
      all.links += here.links;
      all.above += here.above;
      all.worst_db = std::fmax(all.worst_db, here.worst_db);
    }
    if (precision == Precision::fp64) {
      checks.that(all.worst_db <= 1e-3,
                  "double as the plain form, but for ties in its last bits: " + std::to_string(all.worst_db));
    } else {
      checks.that(static_cast<double>(all.above) <= 1e-3 * static_cast<double>(all.links),
                  std::to_string(all.above) + " of " + std::to_string(all.links) + " above 0.05 dB");
    }
  }
}

/// After moves the losses are those of a placement anew, bit for bit, and only those that were asked for were touched.
void moved(Checks& checks, gpu::Device& device, Precision precision) {
  constexpr std::uint32_t kCount = kSanitized ? 9 : 37;
  const Ground ground = hills(400);
  const Setup setup = setup_of(ground, precision, 40, 5);
  Radios radios = random_places(3, kCount);
  const auto losses = make_losses(device, setup, radios.count());
  losses->place(radios);
  losses->find_all();
  const std::vector<float> before = losses->fetch_db();
  const Radios elsewhere = random_places(4, kCount);
  const std::vector<std::uint32_t> who = {kCount - 1, 0, kCount / 2 - 1, kCount / 2};
  for (const auto one : who) {
    radios.x[one] = elsewhere.x[one];
    radios.y[one] = elsewhere.y[one];
  }
  losses->move(radios, who);
  const std::vector<float> untouched = losses->fetch_db();
  checks.that(same(untouched, before), "a move alone finds nothing");
  losses->find_moved();
  const std::vector<float> anew = found_by(device, setup, radios);
  checks.that(same(losses->fetch_db(), anew), "as if placed there");
  losses->move(radios, {});
  losses->find_moved();
  checks.that(same(losses->fetch_db(), anew), "nobody moved");
}

/// Radios at one place have no loss; all others do.
void one_place(Checks& checks, gpu::Device& device, Precision precision) {
  const Ground ground = hills(100);
  Radios radios = random_places(9, 6);
  radios.x[4] = radios.x[1];
  radios.y[4] = radios.y[1];
  const std::vector<float> losses = found_by(device, setup_of(ground, precision, 50, 3), radios);
  const auto none = std::count_if(losses.begin(), losses.end(), [](float loss) { return std::isnan(loss); });
  checks.that(none == 1 && std::isnan(losses[radio::row_begin(1, 6) + 2]), "only those two");
}

/// The corners and edges of the grid, where a point's cell is the one before.
void edges(Checks& checks, gpu::Device& device, Precision precision) {
  const Ground ground = hills(500);
  const double last = kSide - 1;
  const Radios radios{{0, last, 0, last, 17, last, 100.5, 0}, {0, 0, last, last, 0, 88, last, 33.25}};
  const Setup setup = setup_of(ground, precision, 77, 8);
  Against against;
  add_all(against, setup, radios, found_by(device, setup, radios));
  checks.that(against.worst_db <= (precision == Precision::fp64 ? 1e-6 : 0.05), std::to_string(against.worst_db));
}

/// Heights as floats, with parts of a metre that int16 has not.
void floats(Checks& checks, gpu::Device& device, Precision precision) {
  const radio::Terrain terrain = radio::synthetic_terrain(5, 90, 30, 700);
  const Ground ground = radio::ground_of(terrain, radio::HeightKind::float32);
  const Setup setup = setup_of(ground, precision, 120, 2);
  Radios radios = random_places(6, kSanitized ? 6 : 16);
  for (auto* one : {&radios.x, &radios.y}) {
    for (double& at : *one) at *= 89.0 / (kSide - 1);
  }
  Against against;
  add_all(against, setup, radios, found_by(device, setup, radios));
  checks.that(against.worst_db <= (precision == Precision::fp64 ? 1e-6 : 0.05), std::to_string(against.worst_db));
}

/// Distances as the reference adds them up, rounding by rounding: steps whose last bits make ties as well.
void sums(Checks& checks) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 4000; ++round) {
    const int bits = static_cast<int>(random() % 53);
    const double mantissa = static_cast<double>(((random() >> 11) >> bits << bits) | (std::uint64_t{1} << bits));
    const double step = std::ldexp(mantissa, -50 + static_cast<int>(random() % 20));
    const int times = 1 + static_cast<int>(random() % 3000), all = times + static_cast<int>(random() % 50);
    double up = 0, down = step * all;
    for (int i = 0; i < times; ++i) up += step;
    for (int i = 0; i < times; ++i) down -= step;
    checks.equal(added_up(0, step, times), up, "upwards");
    checks.equal(added_up(step * all, -step, times), down, "downwards");
  }
}

/// Sorted by a warp, and the value of a rank in every thread.
void sorted(Checks& checks) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> values(std::size_t{kWarp} * kEach), found(kWarp);
    for (float& one : values) one = static_cast<float>(random() % (round % 2 == 0 ? 1000 : 10));
    const int rank = static_cast<int>(random() % values.size());
    gpu::emulate::launch({.blocks = 1, .threads = kWarp}, gpu::emulate::Kind::barriers, [&] {
      float mine[kEach];
      for (unsigned k = 0; k < kEach; ++k) mine[k] = values[k * kWarp + threadIdx.x];
      warp_sort(mine);
      found[threadIdx.x] = warp_ranked(mine, rank);
    });
    std::sort(values.begin(), values.end());
    for (const float one : found) checks.equal(one, values[static_cast<std::size_t>(rank)], "of its rank");
  }
}

/// Every radio once, and neighbours along the curve near each other.
void curve(Checks& checks) {
  const Radios radios = random_places(1, 400);
  const std::vector<std::uint32_t> order = along_a_curve(radios);
  checks.equal(std::set<std::uint32_t>(order.begin(), order.end()).size(), radios.count(), "every radio once");
  double way = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    way += std::hypot(radios.x[order[i]] - radios.x[order[i - 1]], radios.y[order[i]] - radios.y[order[i - 1]]);
  }
  checks.that(way < 25 * kSide, "a short way: " + std::to_string(way));  // 400 squares of 10: about 20 sides
  checks.that(along_a_curve({}).empty() && along_a_curve({{3, 3}, {4, 4}}).size() == 2, "few, and all at one place");
}

void too_large(Checks& checks, gpu::Device& device) {
  const Ground ground = hills(10);
  const auto state = [&](Precision precision, int points) {
    try {
      make_losses(device, setup_of(ground, precision, points, 1), 2);
    } catch (const gpu::Failure& failure) {
      return std::string(gpu::word(failure.state)) + ": " + failure.what();
    }
    return std::string("fits");
  };
  const int most = static_cast<int>(device.info().shared_bytes / sizeof(double));
  checks.equal(state(Precision::fp64, most), std::string("fits"), "a profile that fills the shared memory");
  checks.equal(state(Precision::fp32, 2 * most), std::string("fits"), "twice as long in single precision");
  const std::string said = state(Precision::fp64, most + 1);
  checks.that(said.find("gpu-out-of-memory") == 0 &&
                  said.find("ask for " + std::to_string(most) + " --points at most") != std::string::npos,
              said);
}

}  // namespace
}  // namespace shakedown::gpu_path_loss

int main(int count, char** words) {
  using namespace shakedown;
  Checks checks;
  const auto devices = gpu::host_devices(1);
  gpu::Device& device = *devices.front();
  const bool many = count > 2;  // NAME radios rounds: a longer look by hand
  const std::size_t few = kSanitized ? 4 : 6;
  gpu_path_loss::right(checks, device, many ? std::stoul(words[1]) : few, many ? std::stoul(words[2]) : 8);
  for (const auto precision : {radio::Precision::fp64, radio::Precision::fp32}) {
    gpu_path_loss::moved(checks, device, precision);
    gpu_path_loss::one_place(checks, device, precision);
    gpu_path_loss::edges(checks, device, precision);
    gpu_path_loss::floats(checks, device, precision);
  }
  gpu_path_loss::sums(checks);
  gpu_path_loss::sorted(checks);
  gpu_path_loss::curve(checks);
  gpu_path_loss::too_large(checks, device);
  return checks.end();
}
