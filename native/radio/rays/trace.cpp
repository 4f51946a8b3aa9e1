// The paths between two radios: routes in the plane (straight, over walls, round a corner), each at the height of a
// straight line over its length, or of one that the ground reflects. What a wall's mirror image says is tried against
// the walls' ends, their tops and all that may stand between.
#include <algorithm>
#include <limits>
#include <numbers>
#include <string>

#include "common/error.hpp"
#include "routes.hpp"

namespace shakedown::radio::rays {
namespace {

constexpr double kLight_m_per_ns = 0.299792458;

/// Calls each(one, other) for equal keys of two lists in order.
template <class A, class B, class KeyA, class KeyB, class Each>
void match(const std::vector<A>& one, const std::vector<B>& other, KeyA key_one, KeyB key_other, Each each) {
  auto first = one.begin();
  auto second = other.begin();
  while (first != one.end() && second != other.end()) {
    const auto a = key_one(*first), b = key_other(*second);
    if (a < b) {
      ++first;
    } else if (b < a) {
      ++second;
    } else {
      for (auto same = second; same != other.end() && key_other(*same) == a; ++same) each(*first, *same);
      ++first;
    }
  }
}

const auto itself = [](std::uint32_t number) { return number; };
const auto wall_of = [](const View::Behind& behind) { return behind.wall; };
const auto corner_of = [](const Arm& arm) { return arm.corner; };

class Tracer {
 public:
  Tracer(const Town& town, const PreparedRays& prepared, const View& from, const View& to, TraceScratch& scratch,
         Trace& result)
      : town_(town), prepared_(prepared), from_(from), to_(to), scratch_(scratch), result_(result) {}

  void all() {
    add_straight(link());
    if (prepared_.setting.reflections >= 1) {
      match(from_.walls, to_.walls, itself, itself, [&](std::uint32_t wall, std::uint32_t) { once_reflected(wall); });
    }
    match(from_.walls_behind, to_.walls, wall_of, itself,
          [&](const View::Behind& last, std::uint32_t) { twice_reflected(last.by, last.wall); });
    const auto round_by = [&](const Arm& one, const Arm& other) { round(one, other); };
    match(from_.arms, to_.arms, corner_of, corner_of, round_by);
    match(from_.arms_by_walls, to_.arms, corner_of, corner_of, round_by);
    match(from_.arms, to_.arms_by_walls, corner_of, corner_of, round_by);
    if (prepared_.setting.roofs && prepared_.setting.reflections * prepared_.setting.roof_reflections >= 1) {
      add_reflected_over_roofs(link());
    }
  }

 private:
  [[nodiscard]] Link link() { return {town_, prepared_, from_, to_, scratch_, result_}; }

  void once_reflected(std::uint32_t at) {
    Point mirror;
    const Wall& wall = town_.walls()[at];
    if (!mirror_point(wall, from_.spot.at, to_.spot.at, mirror)) return;
    Route route = begin(PathKind::reflected);
    route.add({StopKind::wall, at, mirror, 0});
    finish(route);
  }

  /// Both ends are mirrored: the line between the images passes both walls where the path touches them.
  void twice_reflected(std::uint32_t first_at, std::uint32_t last_at) {
    const Wall& first = town_.walls()[first_at];
    const Wall& last = town_.walls()[last_at];
    const Point from = from_.spot.at, to = to_.spot.at;
    const double from_first = first.distance_m(from), to_last = last.distance_m(to);
    if (from_first <= kTouch_m || to_last <= kTouch_m) return;
    const Point image = from - first.outward * (2 * from_first), other_image = to - last.outward * (2 * to_last);
    const double beyond_first = first.distance_m(other_image), beyond_last = last.distance_m(image);
    if (beyond_first <= kTouch_m || beyond_last <= kTouch_m) return;
    const double first_part = from_first / (from_first + beyond_first),
                 last_part = beyond_last / (beyond_last + to_last);
    if (first_part >= last_part) return;
    const Point step = other_image - image, at_first = image + step * first_part, at_last = image + step * last_part;
    if (!within(first, at_first) || !within(last, at_last)) return;
    if (first.distance_m(at_last) <= kTouch_m || last.distance_m(at_first) <= kTouch_m) return;
    Route route = begin(PathKind::reflected);
    route.add({StopKind::wall, first_at, at_first, 0});
    route.add({StopKind::wall, last_at, at_last, 0});
    finish(route);
  }

  /// Round a corner: what stands in the way of both arms is known.
  void round(const Arm& one, const Arm& other) {
    const double slope = (to_.spot.z() - from_.spot.z()) / (one.plane_m + other.plane_m);
    if (slope < one.low_slope || -slope < other.low_slope) return;
    Route route = begin(PathKind::corner);
    if (one.wall != Town::kNone) route.add({StopKind::wall, one.wall, one.mirror, 0});
    route.add({StopKind::corner, one.corner, town_.corners()[one.corner].at, 0});
    if (other.wall != Town::kNone) route.add({StopKind::wall, other.wall, other.mirror, 0});
    finish(route, true);
  }

  [[nodiscard]] Route begin(PathKind kind) const {
    Route route(kind);
    route.add({StopKind::end, 0, from_.spot.at, from_.spot.z()});
    return route;
  }

  void finish(Route& route, bool known_clear = false) {
    route.add({StopKind::end, 1, to_.spot.at, to_.spot.z()});
    add_route(link(), route, known_clear);
  }

  const Town& town_;
  const PreparedRays& prepared_;
  const View& from_;
  const View& to_;
  TraceScratch& scratch_;
  Trace& result_;
};

double loss_of(double power) { return std::max(0.0, -10 * std::log10(power)); }

void sum_up(const RaySetting& setting, Trace& result) {
  Complex field = 0;
  double power = 0;
  for (const Path& path : result.paths) {
    field += path.gain;
    power += std::norm(path.gain);
  }
  result.coherent_db = result.paths.empty() ? std::nan("") : loss_of(std::norm(field));
  result.power_db = result.paths.empty() ? std::nan("") : loss_of(power);
  result.loss_db = setting.sum == Sum::coherent ? result.coherent_db : result.power_db;
}

}  // namespace

double Path::loss_db() const { return -10 * std::log10(std::norm(gain)); }
double Path::delay_ns() const { return length_m / kLight_m_per_ns; }

PreparedRays prepare(const RaySetting& setting) {
  const auto within_range = [](double value, double low, double high) { return value >= low && value <= high; };
  if (!within_range(setting.frequency_mhz, 20, 100'000)) {
    throw usage("the frequency of rays is " + std::to_string(setting.frequency_mhz) + " MHz", "20 to 100000");
  }
  if (!within_range(setting.reflections, 0, 2))
    throw usage("the reflections of rays are not 0, 1 or 2", "2 by default");
  if (!within_range(setting.corner_reflections, 0, 1) || !within_range(setting.roof_reflections, 0, 1)) {
    throw usage("the reflections with a corner or over roofs are not 0 or 1", "1 by default");
  }
  if (!within_range(setting.ground.permittivity, 1, 1e6) ||
      !within_range(setting.ground.conductivity_s_per_m, 0, 1e9)) {
    throw usage("the ground of rays has a permittivity below 1 or a conductivity below 0", "15 and 0.005 by default");
  }
  const double wavelength_m = 1000 * kLight_m_per_ns / setting.frequency_mhz;
  return {setting, wavelength_m, 2 * std::numbers::pi / wavelength_m,
          complex_permittivity(material_of(setting.walls, setting.frequency_mhz), setting.frequency_mhz),
          complex_permittivity(setting.ground, setting.frequency_mhz)};
}

void trace(const Town& town, const PreparedRays& prepared, const View& from, const View& to, TraceScratch& scratch,
           Trace& result) {
  result.paths.clear();
  result.stops.clear();
  const bool same = from.spot.at == to.spot.at && from.spot.z() == to.spot.z();
  if (!from.inside && !to.inside && !same) Tracer(town, prepared, from, to, scratch, result).all();
  sum_up(prepared.setting, result);
}

}  // namespace shakedown::radio::rays
