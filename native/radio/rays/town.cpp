#include "town.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "common/error.hpp"

namespace shakedown::radio::rays {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNearest_m = 1e-3;      // corners of a ring nearer than this are one
constexpr double kTouching_m = 1e-3;     // a corner that lies so near to another building touches it
constexpr double kFlat_rad = kPi / 180;  // walls that differ less in direction have no corner between them
constexpr double kLargest_m = 1e6;       // of any coordinate or height
constexpr std::uint32_t kLeaf = 4;       // walls of a leaf, at most

double area_m2(const std::vector<Point>& ring) {
  double twice = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    twice += cross(ring[i] - ring[0], ring[(i + 1) % ring.size()] - ring[0]);
  }
  return twice / 2;
}

void check(double number, const char* what) {
  if (std::isfinite(number) && std::fabs(number) <= kLargest_m) return;
  throw usage(std::string("a building has ") + what + " that is not a number up to 1,000 km", "check the outlines");
}

/// The part of the line from `from` along `step` at which it passes a wall, or a negative number. A line through a
/// corner passes one of its two walls, or both, or none, so that it comes out of what it went into.
double crossing_part(const Wall& wall, Point from, Point step) {
  const double side_a = cross(step, wall.a - from), side_b = cross(step, wall.b - from);
  if ((side_a >= 0) == (side_b >= 0)) return -1;
  const double part = cross(wall.a - from, wall.b - wall.a) / (side_b - side_a);
  return part < 1 ? part : -1;
}

/// Calls visit(wall, part) for every wall that the line passes and whose boxes are above `low_z`, until it is true.
template <class Visit>
bool walk(std::span<const Node> nodes, std::span<const Wall> walls, Point from, Point to, double low_z, Visit&& visit) {
  if (nodes.empty()) return false;
  const Point step = to - from;
  const double low_x = std::min(from.x, to.x), high_x = std::max(from.x, to.x);
  const double low_y = std::min(from.y, to.y), high_y = std::max(from.y, to.y);
  std::array<std::uint32_t, 64> waiting;
  std::size_t count = 0;
  waiting[count++] = 0;
  while (count > 0) {
    const std::uint32_t at = waiting[--count];
    const Node& node = nodes[at];
    const Box& box = node.box;
    if (box.top_m <= low_z || box.low_x > high_x || box.high_x < low_x || box.low_y > high_y || box.high_y < low_y) {
      continue;
    }
    const Point middle{(box.low_x + box.high_x) / 2, (box.low_y + box.high_y) / 2};
    const double reach = (box.high_x - box.low_x) * std::fabs(step.y) + (box.high_y - box.low_y) * std::fabs(step.x);
    if (2 * std::fabs(cross(step, middle - from)) > reach * (1 + 1e-9) + 1e-9) continue;
    if (node.count == 0) {
      waiting[count++] = node.second;
      waiting[count++] = at + 1;
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      const double part = crossing_part(walls[i], from, step);
      if (part > 0 && visit(i, part)) return true;
    }
  }
  return false;
}

Box box_of(const Wall& wall) {
  return {std::min(wall.a.x, wall.b.x), std::min(wall.a.y, wall.b.y), std::max(wall.a.x, wall.b.x),
          std::max(wall.a.y, wall.b.y), wall.top_m};
}

Box joined(const Box& one, const Box& other) {
  return {std::min(one.low_x, other.low_x), std::min(one.low_y, other.low_y), std::max(one.high_x, other.high_x),
          std::max(one.high_y, other.high_y), std::max(one.top_m, other.top_m)};
}

/// An item's place in a tree: sorted into it, and where it was before.
struct Placed {
  Box box;
  std::uint32_t before;
};

/// Sorts items into leaves and appends the nodes over them.
void build_node(std::span<Placed> items, std::uint32_t first, std::vector<Node>& nodes) {
  Box box = items[0].box;
  for (const Placed& item : items) box = joined(box, item.box);
  const std::size_t at = nodes.size();
  const auto count = static_cast<std::uint32_t>(items.size());
  nodes.push_back({box, 0, first, count <= kLeaf ? count : 0});
  if (count <= kLeaf) return;
  const bool wide = box.high_x - box.low_x >= box.high_y - box.low_y;
  const auto order = [wide](const Placed& item) {
    return std::pair(wide ? item.box.low_x + item.box.high_x : item.box.low_y + item.box.high_y, item.before);
  };
  const std::uint32_t half = count / 2;
  std::nth_element(items.begin(), items.begin() + half, items.end(),
                   [&](const Placed& one, const Placed& other) { return order(one) < order(other); });
  build_node(items.first(half), first, nodes);
  nodes[at].second = static_cast<std::uint32_t>(nodes.size());
  build_node(items.subspan(half), first + half, nodes);
}

/// Puts items with a box into the order of a tree; where each was before.
template <class Item, class BoxOf>
std::vector<std::uint32_t> build_tree(std::vector<Item>& items, std::vector<Node>& nodes, BoxOf box) {
  std::vector<Placed> placed;
  placed.reserve(items.size());
  for (const Item& item : items) placed.push_back({box(item), static_cast<std::uint32_t>(placed.size())});
  build_node(placed, 0, nodes);
  std::vector<Item> sorted;
  std::vector<std::uint32_t> before;
  for (const Placed& one : placed) {
    sorted.push_back(items[one.before]);
    before.push_back(one.before);
  }
  items = std::move(sorted);
  return before;
}

/// Calls visit(item) for all whose leaf a box touches, until it is true.
template <class Visit>
bool search(std::span<const Node> nodes, const Box& box, Visit&& visit) {
  std::array<std::uint32_t, 64> waiting;
  std::size_t count = 0;
  if (!nodes.empty()) waiting[count++] = 0;
  while (count > 0) {
    const std::uint32_t at = waiting[--count];
    const Node& node = nodes[at];
    if (node.box.low_x > box.high_x || node.box.high_x < box.low_x || node.box.low_y > box.high_y ||
        node.box.high_y < box.low_y) {
      continue;
    }
    if (node.count == 0) {
      waiting[count++] = node.second;
      waiting[count++] = at + 1;
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      if (visit(i)) return true;
    }
  }
  return false;
}

/// The angle from one direction counter-clockwise to another, 0 to 2 pi.
double turn_rad(Point from, Point to) {
  const double angle = std::atan2(cross(from, to), dot(from, to));
  return angle < 0 ? angle + 2 * kPi : angle;
}

}  // namespace

double Corner::angle_rad(Point towards) const {
  const double angle = turn_rad(face, towards - at);
  return angle > 2 * kPi - 1e-9 ? 0 : angle;  // along the face itself
}

Town::Town(std::span<const Building> buildings) {
  for (const Building& building : buildings) {
    check(building.ground_m, "a ground");
    check(building.height_m, "a height");
    if (building.height_m <= 0) continue;
    const double top_m = building.ground_m + building.height_m;
    const auto first = static_cast<std::uint32_t>(walls_.size());
    const auto number = static_cast<std::uint32_t>(footprints_.size());
    for (std::size_t ring = 0; ring < building.rings.size(); ++ring) {
      add_ring(building.rings[ring], ring > 0, number, top_m);
      if (walls_.size() == first) break;  // no outline: no building
    }
    if (walls_.size() == first) continue;
    Box box = box_of(walls_[first]);
    for (std::size_t i = first; i < walls_.size(); ++i) {
      box = joined(box, box_of(walls_[i]));
      outlines_.emplace_back(walls_[i].a, walls_[i].b);
    }
    footprints_.push_back({box, number, first, static_cast<std::uint32_t>(walls_.size()) - first});
  }
  if (walls_.empty()) return;
  build_trees();
  find_corners();
  find_covered();
}

void Town::build_trees() {
  build_tree(footprints_, footprint_nodes_, [](const Footprint& footprint) { return footprint.box; });
  const std::vector<std::uint32_t> before = build_tree(walls_, nodes_, [](const Wall& wall) { return box_of(wall); });
  std::vector<std::uint32_t> now(before.size()), next(before.size());
  for (std::uint32_t i = 0; i < before.size(); ++i) now[before[i]] = i;
  for (std::uint32_t i = 0; i < before.size(); ++i) next[i] = now[next_[before[i]]];
  next_ = std::move(next);
}

void Town::add_ring(std::vector<Point> ring, bool hole, std::uint32_t building, double top_m) {
  for (const Point at : ring) {
    check(at.x, "a corner");
    check(at.y, "a corner");
  }
  const auto same = [](Point a, Point b) { return length(a - b) < kNearest_m; };
  ring.erase(std::unique(ring.begin(), ring.end(), same), ring.end());
  while (ring.size() > 1 && same(ring.front(), ring.back())) ring.pop_back();
  if (ring.size() < 3) return;
  const double area = area_m2(ring);
  if (std::fabs(area) < kNearest_m * kNearest_m) return;
  if ((area < 0) != hole) std::reverse(ring.begin(), ring.end());
  const auto first = static_cast<std::uint32_t>(walls_.size()), count = static_cast<std::uint32_t>(ring.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const Point a = ring[i], b = ring[(i + 1) % count];
    const double long_m = length(b - a);
    const Point along = (b - a) * (1 / long_m);
    walls_.push_back({a, b, along, {along.y, -along.x}, long_m, top_m, building, kNone, false});
    next_.push_back(first + (i + 1) % count);
  }
}

void Town::find_corners() {
  for (std::uint32_t before = 0; before < walls_.size(); ++before) {
    const Wall& wall = walls_[before];
    const std::uint32_t after = next_[before];
    const Point at = wall.b, face = wall.along * -1.0;
    const double exterior = turn_rad(face, walls_[after].along);
    if (exterior < kPi + kFlat_rad) continue;
    double low_m = -std::numeric_limits<double>::infinity();
    for (int eighth = 0; eighth < 8; ++eighth) {
      const double angle = (eighth + 0.5) * kPi / 4;
      const Point beside = at + Point{std::cos(angle), std::sin(angle)} * kTouching_m;
      low_m = std::max(low_m, top_over_m(beside, wall.building));
    }
    if (low_m >= wall.top_m) continue;
    walls_[after].corner = static_cast<std::uint32_t>(corners_.size());
    corners_.push_back({at, face, exterior, low_m, wall.top_m, wall.building, before, after});
  }
}

void Town::find_covered() {
  for (Wall& wall : walls_) {
    Box box = box_of(wall);
    box = {box.low_x - kTouching_m, box.low_y - kTouching_m, box.high_x + kTouching_m, box.high_y + kTouching_m, 0};
    wall.covered = search(footprint_nodes_, box, [&](std::uint32_t at) {
      const Box& other = footprints_[at].box;
      return footprints_[at].building != wall.building && other.low_x <= box.high_x && other.high_x >= box.low_x &&
             other.low_y <= box.high_y && other.high_y >= box.low_y;
    });
  }
}

double Town::top_over_m(Point at, std::uint32_t except) const {
  double top_m = -std::numeric_limits<double>::infinity();
  search(footprint_nodes_, {at.x, at.y, at.x, at.y, 0}, [&](std::uint32_t number) {
    const Footprint& footprint = footprints_[number];
    if (footprint.building == except || footprint.box.top_m <= top_m) return false;
    bool inside = false;  // the outline passes a line to the east an odd number of times
    for (std::uint32_t i = footprint.first_wall; i < footprint.first_wall + footprint.walls; ++i) {
      const auto& [a, b] = outlines_[i];
      if ((a.y > at.y) == (b.y > at.y)) continue;
      if (rays::cross(b - a, at - a) * (b.y - a.y) > 0) inside = !inside;
    }
    if (inside) top_m = footprint.box.top_m;
    return false;
  });
  return top_m;
}

bool Town::is_open(Point at, double z) const { return top_over_m(at) <= z; }

bool Town::is_open(const Wall& wall, Point at, double z) const { return !wall.covered || top_over_m(wall, at) <= z; }

double Town::top_over_m(const Wall& wall, Point at) const {
  return top_over_m(at + wall.outward * kTouching_m, wall.building);
}

bool Town::clear(Point from, double from_z, Point to, double to_z) const {
  const double long_m = length(to - from);
  return !walk(nodes_, walls_, from, to, std::min(from_z, to_z), [&](std::uint32_t wall, double part) {
    if (part * long_m < kTouch_m || (1 - part) * long_m < kTouch_m) return false;
    return from_z + (to_z - from_z) * part < walls_[wall].top_m;
  });
}

void Town::cross(Point from, Point to, std::vector<Crossing>& crossings) const {
  crossings.clear();
  const double long_m = length(to - from);
  walk(nodes_, walls_, from, to, -std::numeric_limits<double>::infinity(), [&](std::uint32_t wall, double part) {
    if (part * long_m >= kTouch_m && (1 - part) * long_m >= kTouch_m) {
      crossings.push_back({part, walls_[wall].top_m, wall});
    }
    return false;
  });
  std::sort(crossings.begin(), crossings.end(), [](const Crossing& one, const Crossing& other) {
    return std::pair(one.part, one.wall) < std::pair(other.part, other.wall);
  });
}

}  // namespace shakedown::radio::rays
