// A town on the map, and the paths between stations in it: the model `rays` of the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "map.hpp"
#include "radio/models.hpp"
#include "radio/rays/rays.hpp"
#include "radio/rays/town_file.hpp"

namespace shakedown::radio {

class Tracing {
 public:
  /// What one thread needs.
  struct Scratch {
    rays::SeeScratch see;
    rays::TraceScratch trace;
    rays::View from, to;
    rays::Trace found;
  };

  /// Throws a usage error for a file that is not a town and a setting that rays are not traced with, and "could not
  /// measure" where the file cannot be read.
  Tracing(const std::string& path, const ModelSetting& setting);

  /// Whether a place lies in a building.
  [[nodiscard]] bool inside(const Station& station) const;

  /// What a station may see: for many links of it.
  [[nodiscard]] std::shared_ptr<const rays::View> view(const Station& station, Scratch& scratch) const;

  /// All paths from one station to another; a station without a view gets one for this link alone. The same either way.
  const rays::Trace& trace(const Station& from, const Station& to, Scratch& scratch) const;

  /// The buildings that stand within `margin_m` of the paths' stops.
  [[nodiscard]] std::vector<Json> buildings_near(const rays::Trace& trace, double margin_m) const;

 private:
  [[nodiscard]] rays::Spot spot(const Station& station) const;

  rays::TownFile file_;
  rays::Town town_;
  rays::PreparedRays prepared_;
};

/// What a view holds of the memory.
std::uint64_t bytes_of(const rays::View& view);

/// The loss of what was found, for RadioPath::traced.
TracedPaths traced_paths(const rays::Trace& trace);

}  // namespace shakedown::radio
