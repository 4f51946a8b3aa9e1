// The losses of many links in one instruction set: the interface of avx512.cpp and its like, and what they all compile.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "itm_profile.hpp"
#include "itm_setting.hpp"
#include "itm_variability.hpp"
#include "sampling.hpp"

namespace shakedown::radio {

/// What all links have in common.
struct Links {
  const Ground& ground;
  Prepared prepared;
  int points;  // of a profile, 2 or more
};

/// Of heights, sums and the physics: what decides by whole points is in double precision either way (itm_profile.hpp).
enum class Precision { fp64, fp32 };

/// Losses in dB along `count` routes, in their order; NaN where there is none: where the model gives none (see
/// ItmError), for a way that leaves the grid, reads a cell with a hole or has no length, and for antennas that are not
/// 0.5 to 3000 m high. A loss does not depend on the routes beside it.
/// `scratch`: scratch_numbers() numbers, at a multiple of 64 bytes. Routes that lie near each other in a row read the
/// same lines of the memory.
using LossesOf = void(const Links& links, const Route* routes, std::size_t count, double* scratch, float* loss_db);

struct Isa {
  const char* name;
  int lanes;  // of double precision; single has twice as many, but one in the plain form
  LossesOf *fp64, *fp32;

  [[nodiscard]] LossesOf& losses(Precision precision) const { return precision == Precision::fp64 ? *fp64 : *fp32; }
  [[nodiscard]] std::size_t scratch_numbers(int points) const {
    return static_cast<std::size_t>(points) * static_cast<std::size_t>(lanes);
  }
};

/// The heights above sea level along a route, at equal steps with both ends, in double precision: what point_to_point
/// wants. Not a number where a height is not known; empty for a route that leaves the grid.
std::vector<double> profile_of(const Ground& ground, const Route& route, int points);

std::vector<std::string> isas_built();
const Isa& isa_of(const std::string& name);
std::vector<const Isa*> isas_here();

/// Numbers that begin at a multiple of 64 bytes.
class Aligned {
 public:
  explicit Aligned(std::size_t count) : memory_(count + 8) {
    void* at = memory_.data();
    std::size_t room = memory_.size() * sizeof(double);
    begin_ = static_cast<double*>(std::align(64, count * sizeof(double), at, room));
  }
  [[nodiscard]] double* data() const { return begin_; }

 private:
  std::vector<double> memory_;
  double* begin_;
};

/// The losses by lanes of one kind.
template <class L>
void losses_by(const Links& links, const Route* routes, std::size_t count, double* scratch, float* loss_db) {
  using D = Deciding<L>;
  auto* const heights_m = reinterpret_cast<typename L::Real*>(scratch);
  for (std::size_t first = 0; first < count; first += L::kWidth) {
    const Ways<L> ways = ways_of<L>(routes + first, count - first, links.ground, links.points);
    Profiles<L> path;
    path.heights_m = heights_m;
    path.intervals = links.points - 1;
    const auto read = sample_profiles<L>(ways, links.ground, links.points, heights_m, path.level_m);
    for (int part = 0; part < kParts<L>; ++part) {
      path.step_m[part] = ways.length_m[part] / D(path.intervals);
      for (int end = 0; end < 2; ++end) path.antenna_m[end][part] = ways.antenna_m[end][part];
    }
    const Geometry<L> geometry = geometry_of(path, links.prepared);
    const L loss = loss_of(geometry, links.prepared, 10).loss_db;
    const L radius = L(1) / geometry.curvature_per_m;
    const auto known = read & (geometry.surface_n >= L(150)) & (geometry.surface_n <= L(400)) &
                       (radius >= L(4'000'000)) & (radius <= L(13'333'333));
    const L kept = select(known, loss, L(std::numeric_limits<double>::quiet_NaN()));
    for (int lane = 0; lane < L::kWidth && first + static_cast<std::size_t>(lane) < count; ++lane) {
      loss_db[first + static_cast<std::size_t>(lane)] = static_cast<float>(kept[lane]);
    }
  }
}

}  // namespace shakedown::radio
