// A slow tracer for the tests, by other means than the fast one: every wall, pair of walls and corner is tried; points
// of reflection are those of the shortest way (Fermat), found by Newton's method; what stands in the way is found
// building by building from the outlines; the string over roofs by its highest point, again and again.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>
#include <tuple>

#include "../diffraction.hpp"
#include "rays.hpp"

namespace shakedown::radio::rays::exact {

using Key = std::tuple<PathKind, bool, std::uint32_t, std::uint32_t, std::uint32_t>;
inline Key key_of(const Path& path) { return {path.kind, path.ground, path.walls[0], path.walls[1], path.corner}; }

struct Part {  // of a line, inside of a building
  double begin, end, top_m;
};

struct Space {
  Point plane;
  double z;
};

class Tracer {
 public:
  Tracer(std::span<const Building> buildings, const Town& town, const PreparedRays& prepared)
      : buildings_(buildings), town_(town), prepared_(prepared) {}

  std::map<Key, Complex> trace(const Spot& from, const Spot& to) {
    from_ = from;
    to_ = to;
    found_.clear();
    const RaySetting& setting = prepared_.setting;
    straight();
    const auto walls = static_cast<std::uint32_t>(town_.walls().size());
    for (std::uint32_t one = 0; one < walls && setting.reflections >= 1; ++one) {
      reflected(one);
      for (std::uint32_t other = 0; other < walls && setting.reflections >= 2; ++other) twice(one, other);
    }
    for (std::uint32_t corner = 0; corner < town_.corners().size() && setting.corners; ++corner) round(corner);
    return found_;
  }

 private:
  // ------------------------------------------------------------------------------------------------- what is in the
  // way

  /// The parts of the line from `from` to `to` that lie inside of buildings.
  [[nodiscard]] std::vector<Part> inside(Point from, Point to) const {
    std::vector<Part> parts;
    for (const Building& building : buildings_) {
      if (building.height_m <= 0) continue;
      std::vector<double> cuts{0, 1};
      for (const auto& ring : building.rings) {
        for (std::size_t i = 0; i < ring.size(); ++i) {
          const Point a = ring[i], b = ring[(i + 1) % ring.size()], d = to - from, e = b - a;
          const double across = cross(d, e);
          if (across == 0) continue;
          const double t = cross(a - from, e) / across, u = cross(a - from, d) / across;
          if (t > 0 && t < 1 && u >= 0 && u <= 1) cuts.push_back(t);
        }
      }
      std::sort(cuts.begin(), cuts.end());
      for (std::size_t i = 1; i < cuts.size(); ++i) {
        if ((cuts[i] - cuts[i - 1]) * length(to - from) < 3 * kTouch_m) continue;
        if (!holds(building, from + (to - from) * ((cuts[i] + cuts[i - 1]) / 2))) continue;
        parts.push_back({cuts[i - 1], cuts[i], building.ground_m + building.height_m});
      }
    }
    return parts;
  }

  /// By the angle that an outline goes around a point.
  static bool holds(const Building& building, Point at) {
    int rounds = 0;
    for (const auto& ring : building.rings) {
      double angle = 0;
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const Point a = ring[i] - at, b = ring[(i + 1) % ring.size()] - at;
        angle += std::atan2(cross(a, b), dot(a, b));
      }
      if (std::fabs(angle) > std::numbers::pi) ++rounds;
    }
    return rounds == 1;  // in the outline and in no courtyard
  }

  [[nodiscard]] bool clear(const Space& from, const Space& to) const {
    for (const Part& part : inside(from.plane, to.plane)) {
      const double one = from.z + (to.z - from.z) * part.begin, other = from.z + (to.z - from.z) * part.end;
      if (std::min(one, other) < part.top_m) return false;
    }
    return true;
  }

  // -------------------------------------------------------------------------------------------------------- shortest
  // ways

  /// Where the way from one point over a wall's line to another is shortest; false where this is no reflection.
  bool shortest(const Wall& wall, Point from, Point to, Point& touch) const {
    if (wall.distance_m(from) <= kTouch_m || wall.distance_m(to) <= kTouch_m) return false;
    double at = wall.length_m / 2;
    const auto slope = [&](double u) {
      const Point x = wall.a + wall.along * u;
      return dot(wall.along, x - from) / length(x - from) + dot(wall.along, x - to) / length(x - to);
    };
    double low = -1e5, high = 1e5;  // bisection: the slope grows
    for (int i = 0; i < 70; ++i) {
      at = (low + high) / 2;
      (slope(at) < 0 ? low : high) = at;
    }
    touch = wall.a + wall.along * at;
    return at > 0 && at < wall.length_m;
  }

  /// The same over two walls: the shortest way by the first wall, for each point of the second, and of these the
  /// shortest. Both are convex, so that their slopes grow.
  bool shortest(const Wall& one, const Wall& other, Point from, Point to, Point& first, Point& second) const {
    if (one.distance_m(from) <= kTouch_m || other.distance_m(to) <= kTouch_m) return false;
    if (std::max(one.distance_m(other.a), one.distance_m(other.b)) <= kTouch_m) return false;
    if (std::max(other.distance_m(one.a), other.distance_m(one.b)) <= kTouch_m) return false;
    const auto slope = [&](const Wall& wall, Point x, Point before, Point after) {
      const double p = length(x - before), q = length(x - after);
      return dot(wall.along, x - before) / p + dot(wall.along, x - after) / q;
    };
    const auto zero = [](double most, auto&& function) {
      double low = 0, high = most;
      for (int i = 0; i < 48; ++i) (function((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
      return (low + high) / 2;
    };
    double u = 0;
    const auto outer = [&](double v) {
      second = other.a + other.along * v;
      u = zero(one.length_m, [&](double s) { return slope(one, one.a + one.along * s, from, second); });
      first = one.a + one.along * u;
      return slope(other, second, first, to);
    };
    const double end = 1e-9;
    if (outer(end) >= 0 || outer(other.length_m - end) <= 0) return false;
    outer(zero(other.length_m, outer));
    return u > end && u < one.length_m - end && one.distance_m(second) > kTouch_m && other.distance_m(first) > kTouch_m;
  }

  // ----------------------------------------------------------------------------------------------------------------
  // paths

  struct Touch {
    std::uint32_t id;
    Point at;
    bool corner;
  };

  void reflected(std::uint32_t wall) {
    Point at;
    if (!shortest(town_.walls()[wall], from_.at, to_.at, at)) return;
    add(PathKind::reflected, {{wall, at, false}});
    if (prepared_.setting.roofs && prepared_.setting.roof_reflections > 0) over_roofs(wall, at);
  }

  void twice(std::uint32_t one, std::uint32_t other) {
    Point first, second;
    if (one == other) return;
    if (!shortest(town_.walls()[one], town_.walls()[other], from_.at, to_.at, first, second)) return;
    add(PathKind::reflected, {{one, first, false}, {other, second, false}});
  }

  void round(std::uint32_t at) {
    const Corner& corner = town_.corners()[at];
    const Touch edge{at, corner.at, true};
    add(PathKind::corner, {edge});
    if (prepared_.setting.corner_reflections == 0 || prepared_.setting.reflections == 0) return;
    for (std::uint32_t wall = 0; wall < town_.walls().size(); ++wall) {
      Point touch;
      if (shortest(town_.walls()[wall], from_.at, corner.at, touch)) {
        add(PathKind::corner, {{wall, touch, false}, edge});
      }
      if (shortest(town_.walls()[wall], corner.at, to_.at, touch)) {
        add(PathKind::corner, {edge, {wall, touch, false}});
      }
    }
  }

  /// The way over all touches, at the height of a line, and by the ground; each if nothing is against it.
  void add(PathKind kind, const std::vector<Touch>& touches) {
    std::vector<Point> points{from_.at};
    for (const Touch& touch : touches) points.push_back(touch.at);
    points.push_back(to_.at);
    std::vector<double> along{0};
    for (std::size_t i = 1; i < points.size(); ++i) along.push_back(along.back() + length(points[i] - points[i - 1]));
    const double whole = along.back();
    for (const bool ground : {false, true}) {
      if (ground && !prepared_.setting.ground_reflection) continue;
      const double down = whole * from_.height_m / (from_.height_m + to_.height_m);
      const auto height = [&](double s) {  // the ground is a line, and heights go above it
        const double under = from_.ground_m + (to_.ground_m - from_.ground_m) * s / whole;
        const double above = from_.height_m + (to_.height_m - from_.height_m) * s / whole;
        return under + (!ground ? above : std::fabs(from_.height_m - (from_.height_m + to_.height_m) * s / whole));
      };
      std::vector<Space> stops{{points[0], height(0)}};
      bool fits = true;
      double before = 0;
      std::size_t edge = 0;
      Complex gain = 1;
      std::vector<std::pair<Space, const Touch*>> all{{{points[0], height(0)}, nullptr}};
      for (std::size_t i = 1; i < points.size(); ++i) {
        if (ground && along[i - 1] <= down && down < along[i]) {
          const double share = (down - along[i - 1]) / (along[i] - along[i - 1]);
          all.push_back({{points[i - 1] + (points[i] - points[i - 1]) * share, height(down)}, nullptr});
        }
        const Touch* touch = i + 1 < points.size() ? &touches[i - 1] : nullptr;
        all.push_back({{points[i], height(along[i])}, touch});
      }
      for (std::size_t i = 1; i < all.size() && fits; ++i) fits = clear(all[i - 1].first, all[i].first);
      double path_m = 0;
      for (std::size_t i = 1; i < all.size() && fits; ++i) {
        path_m += apart(all[i - 1].first, all[i].first);
        const Touch* touch = all[i].second;
        if (touch == nullptr) continue;
        if (touch->corner) {
          const Corner& corner = town_.corners()[touch->id];
          fits = all[i].first.z < corner.top_m && all[i].first.z >= corner.low_m &&
                 corner.angle_rad(all[i - 1].first.plane) <= corner.exterior_rad + 1e-9 &&
                 corner.angle_rad(all[i + 1].first.plane) <= corner.exterior_rad + 1e-9;
          before = path_m;
          edge = i;
        } else {
          const Wall& wall = town_.walls()[touch->id];
          fits = all[i].first.z < wall.top_m;
          gain *= reflection(prepared_.wall_permittivity, cosine(all[i - 1].first, all[i].first, wall), across());
        }
      }
      if (!fits) continue;
      if (ground) {
        const double high = from_.height_m + to_.height_m;
        gain *= reflection(prepared_.ground_permittivity, std::sin(std::atan(high / whole)), !across());
      }
      gain *= free(path_m);
      if (edge > 0) {
        const Corner& corner = town_.corners()[all[edge].second->id];
        const double after = path_m - before;
        const WedgeRay ray{corner.exterior_rad,
                           corner.angle_rad(all[edge - 1].first.plane),
                           corner.angle_rad(all[edge + 1].first.plane),
                           before,
                           after,
                           whole / path_m};
        gain *= wedge_diffraction(ray, prepared_.wave_number_per_m, prepared_.wall_permittivity, across()) *
                std::sqrt(path_m / before / after);
      } else if (kind == PathKind::direct && !ground && prepared_.setting.roofs) {
        gain *= std::pow(10, -knife_edges(edges_of({from_.at, to_.at})) / 20);
      }
      Path path;
      path.kind = kind;
      path.ground = ground;
      std::size_t count = 0;
      for (const Touch& touch : touches) {
        (touch.corner ? path.corner : path.walls[count]) = touch.id;
        count = 1;
      }
      found_[key_of(path)] = gain;
    }
  }

  void straight() {
    const Space from{from_.at, from_.z()}, to{to_.at, to_.z()};
    if (clear(from, to)) {
      add(PathKind::direct, {});
    } else if (prepared_.setting.roofs) {
      over(edges_of({from_.at, to_.at}), PathKind::roof, Path::kNone, {}, 0);
    }
  }

  // ----------------------------------------------------------------------------------------------------------- over
  // roofs

  [[nodiscard]] std::vector<RoofEdge> edges_of(const std::vector<Point>& points) const {
    std::vector<RoofEdge> edges;
    double begin = 0;
    for (std::size_t i = 1; i < points.size(); ++i) {
      const double leg = length(points[i] - points[i - 1]);
      for (const Part& part : inside(points[i - 1], points[i])) {
        if (part.begin > 0) edges.push_back({begin + part.begin * leg, part.top_m, 0});
        if (part.end < 1) edges.push_back({begin + part.end * leg, part.top_m, 0});
      }
      begin += leg;
    }
    whole_m_ = begin;
    return edges;
  }

  void over_roofs(std::uint32_t wall, Point at) {
    over(edges_of({from_.at, at, to_.at}), PathKind::roof, wall, at, length(at - from_.at));
  }

  void over(const std::vector<RoofEdge>& edges, PathKind kind, std::uint32_t wall, Point at, double at_m) {
    std::vector<RoofEdge> string{{0, from_.z(), 0}, {whole_m_, to_.z(), 0}};
    for (std::size_t i = 1; i < string.size();) {  // the edge highest above each piece
      const RoofEdge one = string[i - 1], other = string[i];
      const RoofEdge* best = nullptr;
      double most = 1e-12;
      for (const RoofEdge& edge : edges) {
        if (edge.distance_m <= one.distance_m || edge.distance_m >= other.distance_m) continue;
        const double share = (edge.distance_m - one.distance_m) / (other.distance_m - one.distance_m);
        const double above = edge.top_m - one.top_m - (other.top_m - one.top_m) * share;
        if (above > most) most = above, best = &edge;
      }
      if (best != nullptr) {
        string.insert(string.begin() + static_cast<std::ptrdiff_t>(i), *best);
      } else {
        ++i;
      }
    }
    double path_m = 0, height = 0, stretch = 1;
    for (std::size_t i = 1; i < string.size(); ++i) {
      const RoofEdge &one = string[i - 1], &other = string[i];
      const double plane = other.distance_m - one.distance_m, leg = std::hypot(plane, other.top_m - one.top_m);
      path_m += leg;
      if (one.distance_m < at_m && at_m <= other.distance_m) {
        height = one.top_m + (other.top_m - one.top_m) * (at_m - one.distance_m) / plane;
        stretch = leg / plane;
      }
    }
    Complex gain = free(path_m) * std::pow(10, -knife_edges(edges) / 20);
    Path path;
    path.kind = kind;
    if (wall != Path::kNone) {
      if (string.size() < 3 || height >= town_.walls()[wall].top_m) return;
      const bool before = string[string.size() - 2].distance_m<at_m, after = string[1].distance_m> at_m;
      if (!before && !after) return;
      for (const Part& part : inside(from_.at, at)) {  // down through the roof of a house before it
        if (part.end >= 1 && part.top_m > height) return;
      }
      for (const Part& part : inside(at, to_.at)) {
        if (part.begin <= 0 && part.top_m > height) return;
      }
      const Point along = (at - from_.at) * (1 / length(at - from_.at));
      const double normal = std::fabs(dot(along, town_.walls()[wall].outward)) / stretch;
      gain *= reflection(prepared_.wall_permittivity, normal, across());
      path.walls[0] = wall;
    }
    found_[key_of(path)] = gain;
  }

  /// Deygout's construction, one edge on each side.
  [[nodiscard]] double knife_edges(const std::vector<RoofEdge>& edges) const {
    const auto best = [&](const RoofEdge& one, const RoofEdge& other) {
      std::pair<double, const RoofEdge*> most{-1e9, nullptr};
      for (const RoofEdge& edge : edges) {
        const double d1 = edge.distance_m - one.distance_m, d2 = other.distance_m - edge.distance_m;
        if (d1 <= 0 || d2 <= 0) continue;
        const double line = one.top_m + (other.top_m - one.top_m) * d1 / (d1 + d2);
        const double nu = (edge.top_m - line) * std::sqrt(2 / prepared_.wavelength_m * (1 / d1 + 1 / d2));
        if (nu > most.first) most = {nu, &edge};
      }
      return most;
    };
    const RoofEdge begin{0, from_.z(), 0}, end{whole_m_, to_.z(), 0};
    const auto main = best(begin, end);
    if (main.second == nullptr || main.first <= -0.78) return 0;
    const double loss = knife_edge_db(main.first);
    return loss + (1 - std::exp(-loss / 6)) *
                      (knife_edge_db(best(begin, *main.second).first) + knife_edge_db(best(*main.second, end).first));
  }

  // ---------------------------------------------------------------------------------------------------------------
  // angles

  [[nodiscard]] bool across() const { return prepared_.setting.polarization == Polarization::horizontal; }
  static double apart(const Space& from, const Space& to) {
    return std::hypot(to.plane.x - from.plane.x, to.plane.y - from.plane.y, to.z - from.z);
  }
  static double cosine(const Space& from, const Space& to, const Wall& wall) {
    const Point step = to.plane - from.plane;
    return std::fabs(step.x * wall.outward.x + step.y * wall.outward.y) / apart(from, to);
  }
  [[nodiscard]] Complex free(double path_m) const {
    const double k = 2 * std::numbers::pi / prepared_.wavelength_m;
    return prepared_.wavelength_m / (4 * std::numbers::pi * path_m) * std::exp(Complex(0, -k * path_m));
  }

  std::span<const Building> buildings_;
  const Town& town_;
  const PreparedRays& prepared_;
  Spot from_, to_;
  mutable double whole_m_ = 0;
  std::map<Key, Complex> found_;
};

}  // namespace shakedown::radio::rays::exact
