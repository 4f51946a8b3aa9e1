// How long views, links and cells of a map take in a town of 2,025 houses, on one thread by its CPU time: rays_bench
// [RADIOS].
#include <cstdio>
#include <ctime>
#include <random>
#include <string>

#include "rays.hpp"

namespace shakedown::radio::rays {
namespace {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr int kSide = 45;
constexpr int kStreets = kSide / 2;

std::vector<Building> houses() {  // blocks of two by two between streets of 15 m, 6 to 24 m high
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> part(0, 1);
  std::vector<Building> found;
  for (int i = 0; i < kSide * kSide; ++i) {
    const int column = i % kSide, row = i / kSide;
    const int streets_before[2] = {column / 2, row / 2};
    const double x = column * 27 + streets_before[0] * 15, y = row * 27 + streets_before[1] * 15;
    const double wide = 25 - 4 * part(random), deep = 25 - 4 * part(random), high = 6 + 18 * part(random);
    found.push_back({{{{x, y}, {x + wide, y}, {x + wide, y + deep}, {x, y + deep}}}, 0, high});
  }
  return found;
}

void measure(const Town& town, const RaySetting& setting, int radios, double high_share, const char* what) {
  const PreparedRays prepared = prepare(setting);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> at(0, kSide * 27 + kStreets * 15), part(0, 1);
  SeeScratch see_scratch;
  std::vector<View> views;
  double seeing_s = 0;
  while (static_cast<int>(views.size()) < radios) {
    const Spot spot{{at(random), at(random)}, 0, part(random) < high_share ? 25.0 : 1.5};
    if (!town.is_open(spot.at, spot.z())) continue;
    View view;
    const double begin = cpu_s();
    see(town, prepared, spot, view, see_scratch);
    seeing_s += cpu_s() - begin;
    views.push_back(std::move(view));
  }
  TraceScratch scratch;
  Trace result;
  std::size_t links = 0, paths = 0;
  const double begin = cpu_s();
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t j = i + 1; j < views.size(); ++j, ++links) {
      trace(town, prepared, views[i], views[j], scratch, result);
      paths += result.paths.size();
    }
  }
  const double tracing_s = cpu_s() - begin;
  std::size_t bytes = 0;
  for (const View& view : views) {
    bytes += sizeof(View) + 4 * view.walls.size() + sizeof(View::Behind) * view.walls_behind.size() +
             sizeof(Arm) * (view.arms.size() + view.arms_by_walls.size());
  }
  View light;
  const double cells_begin = cpu_s();
  for (const View& view : views) {
    see_towards(town, prepared, view.spot, views[0], light, see_scratch);
    trace(town, prepared, views[0], light, scratch, result);
  }
  const double cell_s = (cpu_s() - cells_begin) / radios;
  std::printf("%s: a cell of a map %.2f ms, a view %zu KiB\n", what, 1e3 * cell_s, bytes / views.size() / 1024);
  std::printf("%s: a view %.2f ms, a link %.1f us (%.0f links/s), %.1f paths a link\n", what, 1e3 * seeing_s / radios,
              1e6 * tracing_s / static_cast<double>(links), static_cast<double>(links) / tracing_s,
              static_cast<double>(paths) / static_cast<double>(links));
}

}  // namespace
}  // namespace shakedown::radio::rays

int main(int argc, char** argv) {
  using namespace shakedown::radio::rays;
  const int radios = argc > 1 ? std::stoi(argv[1]) : 300;
  const Town town(houses());
  RaySetting few;
  few.corners = false;
  few.roof_reflections = 0;
  measure(town, RaySetting{}, radios, 0, "all at 1.5 m");
  measure(town, RaySetting{}, radios, 0.1, "a tenth at 25 m, above the roofs");
  measure(town, few, radios, 0, "all at 1.5 m, without corners and reflections over roofs");
}
