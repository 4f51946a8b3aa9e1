// The losses of many links in one instruction set: the interface of avx512.cpp and its like, and what they all compile.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "itm_variability.hpp"
#include "terrain.hpp"

namespace shakedown::radio {

/// What all links have in common.
struct Links {
  const Terrain& terrain;
  const Radios& radios;
  Prepared prepared;
  double antenna_m;  // of every radio, above ground
  int points;        // of a profile
};

struct Isa {
  const char* name;
  int lanes;
  /// Losses in dB from one radio to `count` others, in their order; NaN where the model gives none (see ItmError).
  /// `scratch`: links.points * lanes numbers, at a multiple of 64 bytes.
  void (*losses)(const Links& links, std::size_t from, const std::uint32_t* to, std::size_t count, double* scratch,
                 float* loss_db);
};

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
void losses_by(const Links& links, std::size_t from, const std::uint32_t* to, std::size_t count, double* scratch,
               float* loss_db) {
  const Radios& radios = links.radios;
  for (std::size_t first = 0; first < count; first += L::kWidth) {
    L to_x, to_y;
    for (int lane = 0; lane < L::kWidth; ++lane) {  // lanes that are left over do the last link again
      const std::size_t at = first + static_cast<std::size_t>(lane);
      const std::uint32_t radio = to[at < count ? at : count - 1];
      to_x.set(lane, radios.x[radio]);
      to_y.set(lane, radios.y[radio]);
    }
    const L step = sample_profiles(links.terrain, radios.x[from], radios.y[from], to_x, to_y, links.points, scratch);
    const Profiles<L> path{scratch, links.points - 1, step, {L(links.antenna_m), L(links.antenna_m)}};
    const Geometry<L> geometry = geometry_of(path, links.prepared);
    const L loss = loss_of(geometry, links.prepared, 10).loss_db;
    const L radius = L(1) / geometry.curvature_per_m;
    const auto known = (step > L(0)) & (geometry.surface_n >= L(150)) & (geometry.surface_n <= L(400)) &
                       (radius >= L(4'000'000)) & (radius <= L(13'333'333));
    const L kept = select(known, loss, L(std::numeric_limits<double>::quiet_NaN()));
    for (int lane = 0; lane < L::kWidth && first + static_cast<std::size_t>(lane) < count; ++lane) {
      loss_db[first + static_cast<std::size_t>(lane)] = static_cast<float>(kept[lane]);
    }
  }
}

}  // namespace shakedown::radio
