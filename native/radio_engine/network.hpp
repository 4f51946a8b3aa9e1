// All radios and the losses of all pairs: what is found again after some moved, and what is new since the last report.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "finder.hpp"
#include "radio/nearness.hpp"

namespace shakedown::radio {

constexpr std::size_t kMostRadios = 65'534;  // ids of EMANE's NEMs

/// Pairs (i < j) with their losses, in order of i, then j.
struct Pairs {
  std::vector<std::uint32_t> i, j;
  std::vector<float> loss_db;
  void add(std::size_t first, std::size_t second, float loss) {
    i.push_back(static_cast<std::uint32_t>(first));
    j.push_back(static_cast<std::uint32_t>(second));
    loss_db.push_back(loss);
  }
};

/// Puts `some` that are spread over all at the front, and says how many: all of them where there are no more.
std::size_t bring_forward(std::vector<std::uint32_t>& all, std::size_t some);
/// The memory that so many more views take, by those that were tried, beyond what the ones that they replace hold.
std::uint64_t views_bytes(std::uint64_t tried_bytes, std::size_t tried, std::size_t left, std::uint64_t held_bytes);

class Network {
 public:
  Network(Team& team, const Finder& finder);

  /// All radios anew. Throws "could not measure" where the memory does not hold the losses of all pairs; then the
  /// radios are those of before.
  void place(std::vector<Station> stations);
  /// Some radios have moved: stations[k] is where radio index[k] is now.
  void move(std::span<const std::uint32_t> index, std::span<const Station> stations);

  [[nodiscard]] std::size_t count() const { return stations_.size(); }
  [[nodiscard]] const Station& station(std::size_t index) const { return stations_[index]; }

  /// All losses, row by row: radio 0 to 1, 2, ... then 1 to 2, 3, ...; finds those of radios that moved. Not a number:
  /// not known.
  std::span<const float> losses();

  /// Pairs whose loss is at most `below_db`.
  Pairs links(float below_db);

  /// Pairs to report since the last call: those at most `below_db` that were above it (or not known) when last
  /// reported, or have changed by more than `above_db` since; and those that were at most below_db and no longer are.
  Pairs changes(float above_db, float below_db);

 private:
  struct Scratch {
    Finder::Scratch finder;
    NearPairs::Scratch pairs;
    std::vector<Way> ways;
    std::vector<float> loss_db;
  };

  void see_anew();
  void see(std::span<const std::uint32_t> radios);
  [[nodiscard]] NearPairs outdated_pairs() const;
  void find(std::span<const PlacePair> pairs, Scratch& scratch);
  [[nodiscard]] std::size_t link(std::size_t i, std::size_t j) const {  // i < j
    return i * (2 * stations_.size() - i - 1) / 2 + (j - i - 1);
  }

  Team& team_;
  const Finder& finder_;
  std::vector<Station> stations_;
  std::vector<char> outdated_;    // radios whose losses are to be found
  std::vector<char> unreported_;  // radios that moved since the last call of changes
  std::size_t outdated_count_ = 0;
  Buffer loss_db_, reported_db_;
  float last_above_db_ = 0, last_below_db_ = 0;
  bool all_unreported_ = true;
  std::vector<Scratch> scratch_;
};

}  // namespace shakedown::radio
