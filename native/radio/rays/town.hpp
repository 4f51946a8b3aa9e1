// A town: walls and corners of its buildings, and a tree of boxes over the walls that finds those on a line.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plane.hpp"

namespace shakedown::radio::rays {

/// Nearer than this to an end of a line, a wall is not in its way: rays begin and end on walls.
inline constexpr double kTouch_m = 1e-6;

/// What is given: closed rings, the first corner not repeated. The first ring is the outline, the others are
/// courtyards. `ground_m` above the datum of the town.
struct Building {
  std::vector<std::vector<Point>> rings;
  double ground_m = 0, height_m = 0;
};

/// From a to b, with its building on the left; it goes down without end and up to `top_m`.
struct Wall {
  Point a, b;
  Point along, outward;  // unit vectors
  double length_m;
  double top_m;
  std::uint32_t building, corner;  // the corner at a; Town::kNone where rays are not diffracted
  bool covered;                    // perhaps, in part, by another building
  /// Above 0 outside of its building.
  [[nodiscard]] double distance_m(Point p) const { return dot(p - a, outward); }
  [[nodiscard]] double along_m(Point p) const { return dot(p - a, along); }
};

/// A vertical edge with more than half of the plane outside. Angles count from `face` through the air.
struct Corner {
  Point at, face;
  double exterior_rad;
  double low_m, top_m;                    // below low_m another building touches it
  std::uint32_t building, before, after;  // the walls that meet in it
  [[nodiscard]] double angle_rad(Point towards) const;
  /// The largest angle of a ray that runs through the air; along a face it does.
  [[nodiscard]] double most_rad() const { return exterior_rad + 1e-9; }
};

/// A wall that a line passes: after this part of the line.
struct Crossing {
  double part;
  double top_m;
  std::uint32_t wall;
};

/// A crossing as the edge of a roof, at a distance along a path.
struct RoofEdge {
  double distance_m, top_m;
  std::uint32_t wall;
};

struct Box {
  double low_x, low_y, high_x, high_y, top_m;
};

/// A box of a tree, over items that lie one behind the other; its first child follows it.
struct Node {
  Box box;
  std::uint32_t second, first, count;  // count 0: not a leaf
};

class Town {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  Town() = default;
  /// Buildings without height, and rings without area or with fewer than three corners apart, are left out. Throws a
  /// usage error for a number that is not finite or too large.
  explicit Town(std::span<const Building> buildings);

  [[nodiscard]] std::span<const Wall> walls() const { return walls_; }
  [[nodiscard]] std::span<const Corner> corners() const { return corners_; }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::size_t buildings() const { return footprints_.size(); }

  /// The highest top of the buildings that hold the point in them, but for `except`; -infinity where there are none.
  [[nodiscard]] double top_over_m(Point at, std::uint32_t except = kNone) const;

  /// The same of the other buildings at a point of a wall.
  [[nodiscard]] double top_over_m(const Wall& wall, Point at) const;

  /// Whether a point is in no building, and a point of a wall in no other building.
  [[nodiscard]] bool is_open(Point at, double z) const;
  [[nodiscard]] bool is_open(const Wall& wall, Point at, double z) const;

  /// Whether nothing is between two points of these heights; walls within kTouch_m of an end do not count.
  [[nodiscard]] bool clear(Point from, double from_z, Point to, double to_z) const;

  /// All walls that the line passes, in its order.
  void cross(Point from, Point to, std::vector<Crossing>& crossings) const;

 private:
  struct Footprint {
    Box box;
    std::uint32_t building, first_wall, walls;  // of outlines_
  };

  void add_ring(std::vector<Point> ring, bool hole, std::uint32_t building, double top_m);
  void build_trees();
  void find_corners();
  void find_covered();

  std::vector<Wall> walls_;
  std::vector<std::uint32_t> next_;  // the wall that begins where this one ends
  std::vector<Corner> corners_;
  std::vector<Node> nodes_;
  std::vector<Footprint> footprints_;
  std::vector<Node> footprint_nodes_;
  std::vector<std::pair<Point, Point>> outlines_;  // the walls building by building
};

}  // namespace shakedown::radio::rays
