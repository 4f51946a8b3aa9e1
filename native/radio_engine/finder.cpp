#include "finder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "common/error.hpp"
#include "radio/itm_setting.hpp"

namespace shakedown::radio {
namespace {

constexpr int kFewestIntervals = 8;

/// The first number from `count` on that has three binary digits behind its first, and zeros.
int rounded_up(int count) {
  const int step = std::max(1, static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1))) / 8);
  return (count + step - 1) / step * step;
}

}  // namespace

int points_of(const ProfilePoints& points, double length_m) {
  if (points.fixed > 0) return points.fixed;
  const double intervals = std::ceil(length_m / points.spacing_m);
  return rounded_up(std::max(kFewestIntervals, static_cast<int>(std::min(intervals, 1e6)))) + 1;
}

Finder::Finder(const Map& map, const Isa& isa, Precision precision, const PreparedModel& model,
               const ProfilePoints& points, const Tracing* tracing)
    : map_(map),
      isa_(isa),
      precision_(precision),
      model_(model),
      loops_(std::string_view(model.model->name) == "itm"),
      prepared_(prepare(model.setting.radio)),
      points_(points),
      tracing_(tracing) {
  const int most = points_of(points, 1.01 * map.diagonal_m());
  if (most > kMostPoints) {
    throw usage("a profile across the map would need " + std::to_string(most) + " points, at most " +
                    std::to_string(kMostPoints) + " are possible",
                "give a larger --spacing-m or a smaller map");
  }
}

Station Finder::station(double latitude_deg, double longitude_deg, double height_m) const {
  Station found = map_.station(latitude_deg, longitude_deg, height_m);
  const bool known = found.standing == Standing::known;
  if (known && tracing_ != nullptr && tracing_->inside(found)) found.standing = Standing::inside;
  return found;
}

void Finder::losses(std::span<const Way> ways, Scratch& scratch, float* loss_db) const {
  std::fill_n(loss_db, ways.size(), std::numeric_limits<float>::quiet_NaN());
  scratch.order.clear();
  scratch.routes.resize(ways.size());
  for (std::size_t at = 0; at < ways.size(); ++at) {
    const auto& [from, to] = ways[at];
    if (from->standing != Standing::known || to->standing != Standing::known) continue;
    Route& route = scratch.routes[at];
    route = map_.route(*from, *to);
    scratch.order.push_back({points_of(points_, route.length_m), static_cast<std::uint32_t>(at)});
  }
  std::sort(scratch.order.begin(), scratch.order.end(),
            [](const auto& a, const auto& b) { return std::tie(a.points, a.at) < std::tie(b.points, b.at); });
  const std::size_t count = scratch.order.size();
  scratch.sorted.resize(count);
  scratch.loss_db.resize(count);
  for (std::size_t i = 0; i < count; ++i) scratch.sorted[i] = scratch.routes[scratch.order[i].at];
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    const int points = scratch.order[begin].points;
    while (end < count && scratch.order[end].points == points) ++end;
    if (loops_) by_loops(begin, end, points, scratch);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [points, at] = scratch.order[i];
    const Station &from = *ways[at].from, &to = *ways[at].to;
    const Route& route = scratch.sorted[i];
    loss_db[at] = loops_ ? scratch.loss_db[i] + static_cast<float>(additions_db(from, to, route.length_m))
                         : static_cast<float>(one_by_one(from, to, route, points, scratch.tracing));
  }
}

void Finder::by_loops(std::size_t begin, std::size_t end, int points, Scratch& scratch) const {
  const std::size_t numbers = isa_.scratch_numbers(points);
  if (scratch.profiles.size() < numbers + 8) scratch.profiles.resize(numbers + 8);
  void* profiles = scratch.profiles.data();
  std::size_t room = scratch.profiles.size() * sizeof(double);
  std::align(64, numbers * sizeof(double), profiles, room);
  const Links links{map_.ground(), prepared_, points};
  isa_.losses(precision_)(links, &scratch.sorted[begin], end - begin, static_cast<double*>(profiles),
                          &scratch.loss_db[begin]);
}

double Finder::one_by_one(const Station& from, const Station& to, const Route& route, int points,
                          Tracing::Scratch& scratch) const {
  if (!model_.model->uses_profile) {
    const double ends[] = {from.ground_m, to.ground_m};
    return link(from, to, ends, route.length_m, scratch).loss_db;
  }
  const std::vector<double> profile = map_.profile(route, points);
  return profile.empty() ? std::nan("") : link(from, to, profile, route.length_m, scratch).loss_db;
}

PathLoss Finder::link(const Station& from, const Station& to, std::span<const double> profile_m, double length_m,
                      Tracing::Scratch& scratch) const {
  // The step as the loops have it, bit for bit: ranges that end on a whole step decide by the last of them.
  const double step_m = length_m / static_cast<double>(profile_m.size() - 1);
  RadioPath path{from.height_m, to.height_m, profile_m, step_m};
  path.tx_id = from.id;
  path.rx_id = to.id;
  TracedPaths traced;
  if (tracing_ != nullptr) {
    traced = traced_paths(tracing_->trace(from, to, scratch));
    path.traced = &traced;
  }
  return path_loss(model_, path);
}

double Finder::additions_db(const Station& from, const Station& to, double length_m) const {
  if (model_.additions[0] == nullptr) return 0;
  const double up_m = to.ground_m + to.height_m - from.ground_m - from.height_m;
  const double slant_m = std::hypot(length_m, up_m), depth_m = std::clamp(model_.setting.wood_depth_m, 0.0, slant_m);
  std::uint32_t warnings = 0;
  double sum = 0;
  for (const Addition* const addition : model_.additions) {
    if (addition != nullptr) sum += addition->loss_db(model_, slant_m, depth_m, warnings);
  }
  return sum;
}

}  // namespace shakedown::radio
