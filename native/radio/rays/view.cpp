// What a radio may see. A beam is a source, which is the radio or its mirror image in a wall, and a window that its
// rays leave through: all around for a radio, the wall for an image. Directions within a window are bins; each bin
// keeps a wall that fills it, and what is behind this wall and no higher above the source is hidden in this bin. All of
// it is on the safe side: what is kept is tried exactly later, what is left out has no path.
#include <algorithm>
#include <limits>

#include "routes.hpp"

namespace shakedown::radio::rays {
namespace {

constexpr double kMargin_m = 1e-5;  // above kTouch_m, on which trace decides
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// In a beam a point has a depth, along `forward`, and a slope: its way to the side over its depth. A wall's nearness
/// (1 / depth) and its height over depth are linear in the slope.
struct Beam {
  Point source;
  double z;
  Point forward, side;
  double near_m;     // what is less deep does not count
  double low, high;  // slopes of the window
  double steepest;   // height over depth of the highest ray that the window lets through
  int bins;
};

struct Segment {
  double low_slope, high_slope, low_nearness, high_nearness;
};

class Sweep {
 public:
  Sweep(const Town& town, const Beam& beam, SeeScratch& scratch)
      : town_(town), beam_(beam), scratch_(scratch), per_slope_(beam.bins / (beam.high - beam.low)) {
    scratch.blocker_top.assign(static_cast<std::size_t>(beam.bins), -kInfinite);
    scratch.blocker_nearness.assign(static_cast<std::size_t>(beam.bins), 0);
  }

  /// Appends to walls and corners of the scratch.
  void run() {
    if (!town_.nodes().empty()) visit(0);
  }

 private:
  void visit(std::uint32_t at) {
    const Node& node = town_.nodes()[at];
    if (hidden(node.box)) return;
    if (node.count != 0) {
      for (std::uint32_t wall = node.first; wall < node.first + node.count; ++wall) visit_wall(wall);
      return;
    }
    const std::uint32_t first = at + 1, second = node.second;
    const bool swap = depth_of(town_.nodes()[second].box) < depth_of(town_.nodes()[first].box);
    visit(swap ? second : first);
    visit(swap ? first : second);
  }

  [[nodiscard]] double depth_of(const Box& box) const {
    const Point middle{(box.low_x + box.high_x) / 2, (box.low_y + box.high_y) / 2};
    const Point away = middle - beam_.source;
    return dot(away, away);
  }

  /// The bins from one slope to another, with a little on both sides; at least one, within the window.
  void bins_of(double low, double high, int& first, int& last) const {
    const double most = beam_.bins - 1;
    first = static_cast<int>(std::clamp((low - beam_.low) * per_slope_ - 1e-6, 0.0, most));
    last = static_cast<int>(std::clamp((high - beam_.low) * per_slope_ + 1e-6, 0.0, most));
  }

  /// Whether nothing that is at most so near and at most so high can be seen in this bin.
  [[nodiscard]] bool hidden_in(int bin, double top, double nearness) const {
    const auto i = static_cast<std::size_t>(bin);
    const double blocker = scratch_.blocker_nearness[i];
    return scratch_.blocker_top[i] > std::min(top, beam_.steepest) &&
           blocker - nearness > kMargin_m * blocker * nearness;
  }

  /// Over the depths from 1 / high_nearness to 1 / low_nearness.
  [[nodiscard]] double highest(double top_m, double low_nearness, double high_nearness) const {
    const double height = top_m - beam_.z;
    return height * (height > 0 ? high_nearness : low_nearness);
  }

  [[nodiscard]] bool hidden(const Box& box) const {
    const Point middle{(box.low_x + box.high_x) / 2, (box.low_y + box.high_y) / 2};
    const Point half{(box.high_x - box.low_x) / 2, (box.high_y - box.low_y) / 2};
    const double depth = dot(middle - beam_.source, beam_.forward), aside = dot(middle - beam_.source, beam_.side);
    const double deep = half.x * std::fabs(beam_.forward.x) + half.y * std::fabs(beam_.forward.y);
    const double wide = half.x * std::fabs(beam_.side.x) + half.y * std::fabs(beam_.side.y);
    const double far = depth + deep, near = std::max(depth - deep, beam_.near_m);
    if (far <= beam_.near_m) return true;
    const double left = aside - wide, right = aside + wide;
    const double low = left > 0 ? left / far : left / near, high = right > 0 ? right / near : right / far;
    if (low > beam_.high || high < beam_.low) return true;
    int first = 0, last = 0;
    bins_of(low, high, first, last);
    const double top = highest(box.top_m, 1 / far, 1 / near);
    for (int bin = first; bin <= last; ++bin) {
      if (!hidden_in(bin, top, 1 / near)) return false;
    }
    return true;
  }

  /// The part of a wall that is deep enough, by slopes; false where there is none in the window.
  bool segment_of(const Wall& wall, Segment& segment) const {
    const Point a = wall.a - beam_.source, b = wall.b - beam_.source;
    double depth_a = dot(a, beam_.forward), depth_b = dot(b, beam_.forward);
    double aside_a = dot(a, beam_.side), aside_b = dot(b, beam_.side);
    if (depth_a <= beam_.near_m && depth_b <= beam_.near_m) return false;
    const double cut = (beam_.near_m - depth_a) / (depth_b - depth_a), at_cut = aside_a + (aside_b - aside_a) * cut;
    if (depth_a < beam_.near_m) {
      depth_a = beam_.near_m;
      aside_a = at_cut;
    } else if (depth_b < beam_.near_m) {
      depth_b = beam_.near_m;
      aside_b = at_cut;
    }
    segment = {aside_a / depth_a, aside_b / depth_b, 1 / depth_a, 1 / depth_b};
    if (segment.low_slope > segment.high_slope) {
      std::swap(segment.low_slope, segment.high_slope);
      std::swap(segment.low_nearness, segment.high_nearness);
    }
    return segment.low_slope <= beam_.high && segment.high_slope >= beam_.low;
  }

  void visit_wall(std::uint32_t at) {
    const Wall& wall = town_.walls()[at];
    if (wall.corner != Town::kNone) visit_corner(wall.corner);
    Segment segment;
    if (!segment_of(wall, segment)) return;
    const double range = segment.high_slope - segment.low_slope;
    const double rise = range > 0 ? (segment.high_nearness - segment.low_nearness) / range : 0;
    const double height = wall.top_m - beam_.z, width = 1 / per_slope_;
    bool seen = false;
    int first = 0, last = 0;
    bins_of(segment.low_slope, segment.high_slope, first, last);
    for (int bin = first; bin <= last; ++bin) {
      const double left = beam_.low + bin * width, right = left + width;
      const double from = std::clamp(left, segment.low_slope, segment.high_slope) - segment.low_slope;
      const double to = std::clamp(right, segment.low_slope, segment.high_slope) - segment.low_slope;
      // A wall on edge has all its nearness in one slope.
      const double one = range > 0 ? segment.low_nearness + rise * from : segment.low_nearness;
      const double other = range > 0 ? segment.low_nearness + rise * to : segment.high_nearness;
      const double low = std::min(one, other), high = std::max(one, other);
      seen = seen || !hidden_in(bin, highest(wall.top_m, low, high), high);
      const double slack = 1e-6 * width;
      if (segment.low_slope > left - slack || segment.high_slope < right + slack) continue;
      const double least = height * (height > 0 ? low : high);
      const auto i = static_cast<std::size_t>(bin);
      if (least > scratch_.blocker_top[i]) {
        scratch_.blocker_top[i] = least;
        scratch_.blocker_nearness[i] = low;
      }
    }
    if (seen && wall.distance_m(beam_.source) > kTouch_m) scratch_.walls.push_back(at);
  }

  void visit_corner(std::uint32_t at) {
    const Corner& corner = town_.corners()[at];
    const Point away = corner.at - beam_.source;
    const double depth = dot(away, beam_.forward);
    if (depth <= beam_.near_m) return;
    const double slope = dot(away, beam_.side) / depth, slack = 1e-6 / per_slope_;
    if (slope < beam_.low - slack || slope > beam_.high + slack) return;
    int first = 0, last = 0;
    bins_of(slope, slope, first, last);
    const double top = (corner.top_m - beam_.z) / depth;
    for (int bin = first; bin <= last; ++bin) {
      if (hidden_in(bin, top, 1 / depth)) continue;
      scratch_.corners.push_back(at);
      return;
    }
  }

  const Town& town_;
  const Beam& beam_;
  SeeScratch& scratch_;
  double per_slope_;
};

void sort_once(std::vector<std::uint32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

/// The way to a corner; nothing where none of its slopes is free.
void add_arm(const Town& town, std::uint32_t at, std::uint32_t by, const View& view, std::vector<Crossing>& crossings,
             std::vector<Arm>& arms) {
  const Corner& corner = town.corners()[at];
  const Point from = view.spot.at;
  const double z = view.spot.z();
  Arm arm{at, by, corner.at, 0, -kInfinite};
  if (by != Town::kNone && !mirror_point(town.walls()[by], from, corner.at, arm.mirror)) return;
  const double mirror_m = length(arm.mirror - from);
  arm.plane_m = mirror_m + length(corner.at - arm.mirror);
  if (mirror_m <= kTouch_m || corner.angle_rad(arm.mirror == corner.at ? from : arm.mirror) > corner.most_rad()) return;
  const auto pass = [&](Point begin, Point end, double begin_m) {
    town.cross(begin, end, crossings);
    const double leg_m = length(end - begin);
    for (const Crossing& one : crossings) {
      arm.low_slope = std::max(arm.low_slope, (one.top_m - z) / (begin_m + one.part * leg_m));
    }
  };
  double high_slope = (corner.top_m - z) / arm.plane_m;
  pass(from, arm.mirror, 0);
  if (by != Town::kNone) {
    const Wall& wall = town.walls()[by];
    pass(arm.mirror, corner.at, mirror_m);
    high_slope = std::min(high_slope, (wall.top_m - z + 2 * view.spot.height_m) / mirror_m);
    if (wall.covered) arm.low_slope = std::max(arm.low_slope, (town.top_over_m(wall, arm.mirror) - z) / mirror_m);
  }
  // A ray by the ground that passes all of this lies below the straight one, which then passes it too.
  if (arm.low_slope <= high_slope) arms.push_back(arm);
}

/// What is seen from the mirror image of a radio in a wall, through this wall.
void see_behind(const Town& town, const RaySetting& setting, std::uint32_t at, View& view, SeeScratch& scratch) {
  const Wall& wall = town.walls()[at];
  const double away_m = wall.distance_m(view.spot.at);
  const Point image = view.spot.at - wall.outward * (2 * away_m);
  const double begin = wall.along_m(image);
  // A ray that the ground reflected comes from as far below it.
  const double steepest = (wall.top_m - view.spot.z() + 2 * view.spot.height_m) / away_m;
  const Beam beam{image,
                  view.spot.z(),
                  wall.outward,
                  wall.along,
                  away_m + kMargin_m,
                  -begin / away_m,
                  (wall.length_m - begin) / away_m,
                  steepest,
                  128};
  scratch.walls.clear();
  scratch.corners.clear();
  Sweep(town, beam, scratch).run();
  if (setting.reflections >= 2) {
    for (const std::uint32_t other : scratch.walls) view.walls_behind.push_back({other, at});
  }
  if (!setting.corners || setting.corner_reflections == 0) return;
  for (const std::uint32_t corner : scratch.corners) {
    add_arm(town, corner, at, view, scratch.crossings, view.arms_by_walls);
  }
}

/// What is seen without a reflection: walls into the view, corners into the scratch, in order.
void see_directly(const Town& town, const Spot& spot, View& view, SeeScratch& scratch) {
  view.spot = spot;
  view.inside = is_inside(town, spot);
  view.walls.clear();
  view.walls_behind.clear();
  view.arms.clear();
  view.arms_by_walls.clear();
  scratch.walls.clear();
  scratch.corners.clear();
  if (view.inside) return;
  for (const Point forward : {Point{1, 0}, Point{0, 1}, Point{-1, 0}, Point{0, -1}}) {
    const Beam beam{spot.at, spot.z(), forward, {-forward.y, forward.x}, kMargin_m, -1, 1, kInfinite, 512};
    Sweep(town, beam, scratch).run();
  }
  sort_once(scratch.walls);
  sort_once(scratch.corners);
  view.walls = scratch.walls;
}

bool has_corner(const std::vector<Arm>& arms, std::uint32_t corner) {
  const auto found = std::lower_bound(arms.begin(), arms.end(), corner,
                                      [](const Arm& arm, std::uint32_t other) { return arm.corner < other; });
  return found != arms.end() && found->corner == corner;
}

}  // namespace

bool is_inside(const Town& town, const Spot& spot) {
  for (const Point step : {Point{0, 0}, Point{1, 0}, Point{0, 1}, Point{-1, 0}, Point{0, -1}}) {
    if (town.is_open(spot.at + step * kTouch_m, spot.z())) return false;
  }
  return true;
}

void see_towards(const Town& town, const PreparedRays& prepared, const Spot& spot, const View& from, View& view,
                 SeeScratch& scratch) {
  see_directly(town, spot, view, scratch);
  const RaySetting& setting = prepared.setting;
  if (!setting.corners) return;
  for (const std::uint32_t corner : scratch.corners) {
    if (!has_corner(from.arms, corner) && !has_corner(from.arms_by_walls, corner)) continue;
    add_arm(town, corner, Town::kNone, view, scratch.crossings, view.arms);
  }
  if (setting.reflections == 0 || setting.corner_reflections == 0) return;
  for (const Arm& arm : from.arms) {
    for (const std::uint32_t wall : view.walls) {
      add_arm(town, arm.corner, wall, view, scratch.crossings, view.arms_by_walls);
    }
  }
}

void see(const Town& town, const PreparedRays& prepared, const Spot& spot, View& view, SeeScratch& scratch) {
  see_directly(town, spot, view, scratch);
  const RaySetting& setting = prepared.setting;
  for (const std::uint32_t corner : scratch.corners) {
    if (setting.corners) add_arm(town, corner, Town::kNone, view, scratch.crossings, view.arms);
  }
  if (setting.reflections == 0) return;
  for (const std::uint32_t wall : view.walls) see_behind(town, setting, wall, view, scratch);
  std::sort(view.walls_behind.begin(), view.walls_behind.end());
  std::sort(view.arms_by_walls.begin(), view.arms_by_walls.end(), [](const Arm& one, const Arm& other) {
    return std::pair(one.corner, one.wall) < std::pair(other.corner, other.wall);
  });
}

}  // namespace shakedown::radio::rays
