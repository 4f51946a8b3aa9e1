// The losses of many ways over the map: such as have as many points go through the loops of an instruction set
// together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "map.hpp"
#include "radio/loops.hpp"
#include "radio/models.hpp"
#include "tracing.hpp"

namespace shakedown::radio {

/// How many heights a profile has with both ends: `fixed`, or, where that is 0, so many that they are at most
/// `spacing_m` apart, rounded up to one of eight counts between two powers of two.
struct ProfilePoints {
  int fixed = 500;
  double spacing_m = 0;
};
constexpr int kMostPoints = 20'000;

/// For one path of this length.
int points_of(const ProfilePoints& points, double length_m);

/// From one station to another.
struct Way {
  const Station *from, *to;
};

class Finder {
 public:
  /// Throws a usage error where spacing_m would need more than kMostPoints on this map. `tracing`: for a model that
  /// needs a town, null for all others.
  Finder(const Map& map, const Isa& isa, Precision precision, const PreparedModel& model, const ProfilePoints& points,
         const Tracing* tracing = nullptr);

  [[nodiscard]] const Map& map() const { return map_; }
  [[nodiscard]] const PreparedModel& model() const { return model_; }
  [[nodiscard]] const ProfilePoints& points() const { return points_; }
  [[nodiscard]] const Tracing* tracing() const { return tracing_; }

  /// A place with what its ways need, as Map::station, and whether it is in a building.
  [[nodiscard]] Station station(double latitude_deg, double longitude_deg, double height_m) const;

  /// What one thread needs.
  struct Scratch {
    struct Entry {
      int points;
      std::uint32_t at;
    };
    std::vector<Entry> order;
    std::vector<Route> routes, sorted;
    std::vector<float> loss_db;
    std::vector<double> profiles;
    Tracing::Scratch tracing;
  };

  /// Losses in dB along ways, in their order. Not a number where an end is not known, where the way leaves the map or
  /// comes over a hole, and where the model has none. A loss depends on its own two ends alone; ways that follow each
  /// other should be near each other, so that they read the same ground.
  void losses(std::span<const Way> ways, Scratch& scratch, float* loss_db) const;

  /// One link in double precision, with its terms; `profile_m` are the heights of its ways's points, of which a model
  /// that uses no profile reads the two ends.
  [[nodiscard]] PathLoss link(const Station& from, const Station& to, std::span<const double> profile_m,
                              double length_m, Tracing::Scratch& scratch) const;

 private:
  void by_loops(std::size_t begin, std::size_t end, int points, Scratch& scratch) const;
  [[nodiscard]] double one_by_one(const Station& from, const Station& to, const Route& route, int points,
                                  Tracing::Scratch& scratch) const;
  [[nodiscard]] double additions_db(const Station& from, const Station& to, double length_m) const;

  const Map& map_;
  const Isa& isa_;
  Precision precision_;
  PreparedModel model_;
  bool loops_;         // the model is that of the loops
  Prepared prepared_;  // for them
  ProfilePoints points_;
  const Tracing* tracing_;
};

}  // namespace shakedown::radio
