// All pairs of radios, their losses, and the threads that find them: all anew, or those of the radios that moved.
#pragma once

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/team.hpp"
#include "course.hpp"
#include "radio/loops.hpp"
#include "radio/nearness.hpp"
#include "radio/terrain.hpp"

namespace shakedown::radio {

/// What all pairs have in common beside their links.
struct Field {
  int side;  // of the grid
  double step_m, antenna_m;
};

class AllPairs {
 public:
  AllPairs(Team& team, const Isa& isa, Precision precision, const Links& links, const Field& field, Radios radios)
      : team_(team),
        isa_(isa),
        precision_(precision),
        links_(links),
        field_(field),
        radios_(std::move(radios)),
        is_new_(radios_.count()),
        loss_db_(row_begin(radios_.count(), radios_.count())) {
    for (int thread = 0; thread < team.size(); ++thread) {
      scratch_.emplace_back(isa.scratch_numbers(links.points));
    }
  }

  /// Seconds for all losses once.
  double find() {
    std::fill(is_new_.begin(), is_new_.end(), 1);
    return find_new();
  }

  /// Puts radios at new places; seconds for the losses of all their links.
  double move(const std::vector<std::uint32_t>& moved, const Radios& places) {
    std::fill(is_new_.begin(), is_new_.end(), 0);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      radios_.x[moved[i]] = places.x[i];
      radios_.y[moved[i]] = places.y[i];
      is_new_[moved[i]] = 1;
    }
    return find_new();
  }

  [[nodiscard]] const Radios& radios() const { return radios_; }
  [[nodiscard]] std::vector<float>& loss_db() { return loss_db_; }
  /// From the radio of the lower number: a loss does not depend on which of the two moved.
  [[nodiscard]] Route route(std::size_t from, std::size_t to) const {
    const std::size_t low = std::min(from, to), high = std::max(from, to);
    return straight_route(radios_.x[low], radios_.y[low], radios_.x[high], radios_.y[high], field_.step_m,
                          field_.antenna_m);
  }

 private:
  struct Scratch {  // of a thread
    Aligned profiles;
    NearPairs::Scratch pairs;

    explicit Scratch(std::size_t numbers) : profiles(numbers) {}
  };

  /// Seconds for the losses of the links of all radios that are new.
  double find_new() {
    const double begin = now_s();
    const NearPairs pairs(radios_.x, radios_.y, is_new_, static_cast<std::size_t>(team_.size()));
    std::atomic<std::size_t> next{0};
    team_.run([&](int thread) {
      Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
      for (std::size_t at = next.fetch_add(1); at < pairs.tasks(); at = next.fetch_add(1)) {
        pairs.each(at, scratch.pairs, [&](std::span<const PlacePair> some) { find_losses(some, scratch); });
      }
    });
    return now_s() - begin;
  }

  void find_losses(std::span<const PlacePair> pairs, Scratch& scratch) {
    Route routes[NearPairs::kPairsAtOnce] = {};
    float losses[NearPairs::kPairsAtOnce];
    for (std::size_t i = 0; i < pairs.size(); ++i) routes[i] = route(pairs[i].low, pairs[i].high);
    isa_.losses(precision_)(links_, routes, pairs.size(), scratch.profiles.data(), losses);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      loss_db_[row_begin(pairs[i].low, radios_.count()) + pairs[i].high - pairs[i].low - 1] = losses[i];
    }
  }

  Team& team_;
  const Isa& isa_;
  Precision precision_;
  const Links& links_;
  Field field_;
  Radios radios_;
  std::vector<char> is_new_;  // radios whose losses are to be found
  std::vector<float> loss_db_;
  std::vector<Scratch> scratch_;
};

}  // namespace shakedown::radio
