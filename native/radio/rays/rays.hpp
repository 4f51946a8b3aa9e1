// A 2.5-dimensional ray tracer for towns: buildings are outlines with a height. The interface, on one screen; README.md
// has the model, its formulas and what it leaves out.
//
//   outlines with heights            -> Town             walls, corners and a tree over them
//   frequency, materials, orders     -> prepare          checks them once
//   a radio                          -> see              what it may see, directly and by one reflection
//   two radios that have seen        -> trace            every path, and the loss
//   many                             -> see_all, all_losses
//
// A Town and Views that are not written to may be read by any number of threads. With a Scratch and a Trace that are
// used again, trace allocates nothing once they have grown.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "common/json.hpp"
#include "common/team.hpp"
#include "plane.hpp"
#include "setting.hpp"
#include "town.hpp"

namespace shakedown::radio::rays {

/// A setting, checked, with what all paths need of it.
struct PreparedRays {
  RaySetting setting;
  double wavelength_m = 0, wave_number_per_m = 0;
  std::complex<double> wall_permittivity, ground_permittivity;
};
/// Throws a usage error for a frequency outside 20 to 100,000 MHz, orders out of range and grounds that are none.
PreparedRays prepare(const RaySetting& setting);

/// Where a radio is: the ground below it above the datum of the town, and its height above this ground (above 0).
struct Spot {
  Point at;
  double ground_m = 0, height_m = 0;
  [[nodiscard]] double z() const { return ground_m + height_m; }
};

/// The way from a radio to a corner, straight or by a wall. It is fixed in the plane; what stands in its way, the
/// wall's top and the corner's own then say between which slopes a ray must leave the radio.
struct Arm {
  std::uint32_t corner, wall;  // the wall: Town::kNone where there is none
  Point mirror;                // where the wall reflects
  double plane_m;              // its length in the plane
  double low_slope;
};

/// What a radio may see: more than it does, never less. Each list is in order of its walls and corners.
struct View {
  struct Behind {  // a wall that is seen by a reflection from another one
    std::uint32_t wall, by;
    friend auto operator<=>(const Behind&, const Behind&) = default;  // NOLINT(modernize-use-nullptr)
  };
  Spot spot;
  bool inside = false;  // of a building: this model has no loss for it
  std::vector<std::uint32_t> walls;
  std::vector<Behind> walls_behind;
  std::vector<Arm> arms, arms_by_walls;
};

struct SeeScratch {
  std::vector<double> blocker_top, blocker_nearness;  // a beam's bins
  std::vector<std::uint32_t> walls, corners;
  std::vector<Crossing> crossings;
};
void see(const Town& town, const PreparedRays& prepared, const Spot& spot, View& view, SeeScratch& scratch);

/// What a radio may see of that which a path from another radio needs: trace(from, view) is the same, bit for bit, as
/// with a whole view, and this one is found in a fraction of the time. It serves no other first radio.
void see_towards(const Town& town, const PreparedRays& prepared, const Spot& spot, const View& from, View& view,
                 SeeScratch& scratch);

/// Whether a place and all that touches it lie in buildings: a radio on a wall is outside.
bool is_inside(const Town& town, const Spot& spot);

enum class PathKind : std::uint8_t { direct, reflected, corner, roof };
enum class StopKind : std::uint8_t { end, wall, corner, ground, roof };

/// Where a path changes its direction; its two ends too.
struct Stop {
  StopKind kind;
  std::uint32_t id;  // of the wall or the corner
  Point at;
  double z;
};

struct Path {
  static constexpr int kMostWalls = 2;
  static constexpr std::uint32_t kNone = 0xffffffff;
  PathKind kind = PathKind::direct;
  bool ground = false;  // it is reflected by the ground too
  /// In the order from the first radio; with a corner, the one before it and the one after it.
  std::array<std::uint32_t, kMostWalls> walls{kNone, kNone};
  std::uint32_t corner = kNone;
  std::complex<double> gain;  // of the field, between isotropic antennas: |gain|^2 is the power received of 1
  double length_m = 0;
  double diffraction_db = 0;                     // over roofs, or past their edges
  std::uint32_t stops_begin = 0, stops_end = 0;  // in Trace::stops
  [[nodiscard]] double loss_db() const;
  [[nodiscard]] double delay_ns() const;
};

/// Loss between isotropic antennas, never below 0 dB; NaN where it is not known: a radio inside of a building, two at
/// one place, or no path at all (which only happens where roofs are left out).
struct Trace {
  double loss_db = 0, coherent_db = 0, power_db = 0;
  std::vector<Path> paths;
  std::vector<Stop> stops;
  [[nodiscard]] std::span<const Stop> stops_of(const Path& path) const {
    return std::span(stops).subspan(path.stops_begin, path.stops_end - path.stops_begin);
  }
};

struct TraceScratch {
  std::vector<Crossing> crossings;
  std::vector<RoofEdge> edges, string;
};
void trace(const Town& town, const PreparedRays& prepared, const View& from, const View& to, TraceScratch& scratch,
           Trace& result);

/// The paths of a link for a drawing, in metres of the town's plane and above its datum.
std::vector<Json> paths_json(const Trace& trace);

/// Each radio's view, and the losses of all pairs (i, j > i) row by row: the same for any number of threads.
std::vector<View> see_all(Team& team, const Town& town, const PreparedRays& prepared, std::span<const Spot> spots);
void all_losses(Team& team, const Town& town, const PreparedRays& prepared, std::span<const View> views,
                std::span<float> loss_db);

}  // namespace shakedown::radio::rays
