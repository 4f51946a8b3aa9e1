// Points of the plane of a town, in metres to the east and to the north of its origin.
#pragma once

#include <cmath>

namespace shakedown::radio::rays {

struct Point {
  double x = 0, y = 0;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(Point a, double factor) { return {a.x * factor, a.y * factor}; }
  friend bool operator==(Point a, Point b) = default;
};

inline double dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
/// Above 0 where b lies counter-clockwise of a.
inline double cross(Point a, Point b) { return a.x * b.y - a.y * b.x; }
inline double length(Point a) { return std::sqrt(dot(a, a)); }

}  // namespace shakedown::radio::rays
