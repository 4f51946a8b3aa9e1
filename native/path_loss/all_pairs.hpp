// All pairs of radios, their losses, and the threads that find them: all anew, or those of the radios that moved.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
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
        has_moved_(radios_.count()),
        loss_db_(row_begin(radios_.count(), radios_.count())) {
    for (int thread = 0; thread < team.size(); ++thread) {
      scratch_.emplace_back(isa.scratch_numbers(links.points));
    }
  }

  /// Seconds for all losses once, from blocks of near radios to blocks of near radios. The longest tasks come first.
  double find() {
    const double begin = now_s();
    sort_places();
    run(blocks_.size(), [&](std::size_t task, Scratch& scratch) {
      const auto is_own = [](std::size_t from_at, std::size_t to_at) { return from_at < to_at; };
      find_links(blocks_[task], task, blocks_.size(), is_own, scratch);
    });
    return now_s() - begin;
  }

  /// Puts radios at new places; seconds for the losses of all their links.
  double move(const std::vector<std::uint32_t>& moved, const Radios& places) {
    std::fill(has_moved_.begin(), has_moved_.end(), false);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      radios_.x[moved[i]] = places.x[i];
      radios_.y[moved[i]] = places.y[i];
      has_moved_[moved[i]] = true;
    }
    const double begin = now_s();
    sort_places();
    std::vector<std::size_t> moved_at;  // where they stand in the order
    for (std::size_t at = 0; at < order_.size(); ++at) {
      if (has_moved_[order_[at]]) moved_at.push_back(at);
    }
    // Few radios are cut in slices, so that every thread has some.
    const std::size_t threads = static_cast<std::size_t>(team_.size());
    const std::size_t slices = std::max<std::size_t>(1, 4 * threads / moved.size()), all = blocks_.size();
    run(moved_at.size() * slices, [&](std::size_t task, Scratch& scratch) {
      const std::size_t at = moved_at[task / slices], slice = task % slices;
      const auto is_own = [&](std::size_t from_at, std::size_t to_at) {  // of two that moved the first finds their link
        return from_at < to_at || (from_at > to_at && !has_moved_[order_[to_at]]);
      };
      find_links(block_of(at, at + 1), slice * all / slices, (slice + 1) * all / slices, is_own, scratch);
    });
    return now_s() - begin;
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
  static constexpr std::size_t kChunk = 64;  // links that are handed over at once

  /// Radios that stand near each other: a part of the order, and its middle.
  struct Block {
    std::size_t begin, end;
    double x, y;
  };
  struct Link {
    std::uint32_t low, high;
  };

  /// What one thread needs: profiles, the blocks to which links are found, and links that are still to be found. Those
  /// from the radio of the lower number are kept apart from those to it: they read the ground the other way round.
  struct Scratch {
    Aligned profiles;
    std::vector<std::pair<float, std::size_t>> by_direction;
    std::vector<Link> outward, inward;

    explicit Scratch(std::size_t numbers) : profiles(numbers) {}
  };

  template <class Task>
  void run(std::size_t tasks, const Task& task) {
    next_.store(0, std::memory_order_relaxed);
    team_.run([&](int thread) {
      for (;;) {
        const std::size_t at = next_.fetch_add(1, std::memory_order_relaxed);
        if (at >= tasks) return;
        task(at, scratch_[static_cast<std::size_t>(thread)]);
      }
    });
  }

  [[nodiscard]] Block block_of(std::size_t begin, std::size_t end) const {
    Block block{begin, end, 0, 0};
    for (std::size_t at = begin; at < end; ++at) {
      block.x += radios_.x[order_[at]] / static_cast<double>(end - begin);
      block.y += radios_.y[order_[at]] / static_cast<double>(end - begin);
    }
    return block;
  }

  void sort_places() {
    order_ = by_nearness(radios_.x, radios_.y);
    blocks_.clear();
    for (std::size_t begin = 0; begin < order_.size(); begin += kBlockOfPlaces) {
      blocks_.push_back(block_of(begin, std::min(begin + kBlockOfPlaces, order_.size())));
    }
  }

  /// The losses of the radios of a block to those of the blocks from `first` to `last`, of the links that `is_own`
  /// says, block by block in the order of their directions: neighbouring paths read the same lines of the terrain.
  template <class IsOwn>
  void find_links(const Block& from, std::size_t first, std::size_t last, const IsOwn& is_own, Scratch& scratch) {
    scratch.by_direction.clear();
    for (std::size_t block = first; block < last; ++block) {
      scratch.by_direction.emplace_back(direction(blocks_[block].x - from.x, blocks_[block].y - from.y), block);
    }
    std::sort(scratch.by_direction.begin(), scratch.by_direction.end());
    for (const auto& [heading, to] : scratch.by_direction) {
      add_links(from, blocks_[to], is_own, scratch);
      for (std::vector<Link>* const links : {&scratch.outward, &scratch.inward}) {
        find_losses(*links, links->size() / kChunk * kChunk, scratch);
      }
    }
    for (std::vector<Link>* const links : {&scratch.outward, &scratch.inward}) {
      find_losses(*links, links->size(), scratch);
    }
  }

  template <class IsOwn>
  void add_links(const Block& from, const Block& to, const IsOwn& is_own, Scratch& scratch) const {
    for (std::size_t from_at = from.begin; from_at < from.end; ++from_at) {
      for (std::size_t to_at = to.begin; to_at < to.end; ++to_at) {
        if (!is_own(from_at, to_at)) continue;
        const std::uint32_t here = order_[from_at], there = order_[to_at];
        if (here < there) {
          scratch.outward.push_back({here, there});
        } else {
          scratch.inward.push_back({there, here});
        }
      }
    }
  }

  /// The losses of the first `count` of these links, which are taken out.
  void find_losses(std::vector<Link>& links, std::size_t count, Scratch& scratch) {
    Route routes[kChunk];
    float losses[kChunk];
    for (std::size_t begin = 0; begin < count; begin += kChunk) {
      const std::size_t some = std::min(kChunk, count - begin);
      const Link* const link = links.data() + begin;
      for (std::size_t i = 0; i < some; ++i) routes[i] = route(link[i].low, link[i].high);
      isa_.losses(precision_)(links_, routes, some, scratch.profiles.data(), losses);
      for (std::size_t i = 0; i < some; ++i) {
        loss_db_[row_begin(link[i].low, radios_.count()) + link[i].high - link[i].low - 1] = losses[i];
      }
    }
    links.erase(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count));
  }

  Team& team_;
  const Isa& isa_;
  Precision precision_;
  const Links& links_;
  Field field_;
  Radios radios_;
  std::vector<char> has_moved_;
  std::vector<std::uint32_t> order_;  // of the radios, by where they stand
  std::vector<Block> blocks_;         // of it
  std::vector<float> loss_db_;
  std::vector<Scratch> scratch_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace shakedown::radio
