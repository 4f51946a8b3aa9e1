// Lists of neighbours, chunk by chunk. A chunk's neighbours lie in runs of cells, which are copied next to one another
// before its forces are found: they are then in the level-1 cache, and an entry of a list needs 16 bits only.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "cells.hpp"
#include "kernel.hpp"

namespace shakedown::lj {

// What a thread takes at a time; within it, particles are put in the order of how many neighbours they have, so that
// those that share a vector have about as many.
inline constexpr std::size_t kChunk = 128;
inline constexpr std::size_t kMostGroups = kChunk / 2;
inline constexpr double kSlack = 1 + 1e-5;  // of ranges in the lists, for the rounding of places there
inline constexpr std::size_t kOver = 16;    // places that may be read beyond those that are there

/// Places first .. first + count - 1 of all, which are copied to `to` and after it.
struct Stretch {
  std::uint32_t first, count, to;
};

struct Chunk {
  const Entry* list = nullptr;
  const Stretch* stretches = nullptr;
  std::uint32_t stretch_count = 0;
  std::uint32_t places = 0;  // of all stretches; the shadows of the chunk's own follow
  std::uint32_t rows[kMostGroups] = {};
};

/// The place half a box away in every direction: it pads lists, since it is beyond any cutoff.
template <class T>
Place<T> shadow(const Place<T>& place) {
  constexpr auto kHalf = static_cast<Fixed<T>>(std::make_unsigned_t<Fixed<T>>{1} << (8 * sizeof(T) - 1));
  return {place.x ^ kHalf, place.y ^ kHalf, place.z ^ kHalf, 0};
}

/// Copy what a chunk needs of all places: its stretches, and the shadows of its own `count` places from `own` on.
template <class T>
void copy_places(const Chunk& chunk, const Place<T>* all, const Place<T>* own, std::size_t count, Place<T>* local) {
  for (std::uint32_t s = 0; s < chunk.stretch_count; ++s) {
    const Stretch& stretch = chunk.stretches[s];
    std::memcpy(local + stretch.to, all + stretch.first, stretch.count * sizeof(Place<T>));
  }
  for (std::size_t i = 0; i < count; ++i) local[chunk.places + i] = shadow(own[i]);
}

/// What lists are made from.
template <class T>
struct Geometry {
  const Cells* cells = nullptr;
  const Loops<T>* loops = nullptr;
  const Place<T>* places = nullptr;
  double length = 0, range = 0;  // of the box, of the lists
  T unit = 0;
};

/// One thread's maker of lists, with the room that it needs for itself.
template <class T>
class Lister {
 public:
  void begin() {
    arena_.reset();
    entries_ = rows_ = 0;
  }
  /// The lists of particles first .. first + count - 1, which lie in `cell_of[0 .. count)`, and in `order` where each
  /// is among them when the longest list comes first. Throws where the chunk has more neighbours than entries can tell
  /// apart.
  Chunk make(const Geometry<T>& from, std::size_t first, std::size_t count, const std::uint32_t* cell_of,
             std::uint32_t* order) {
    Chunk chunk;
    find_stretches(*from.cells, cell_of, count, chunk);
    std::size_t begins[kChunk];
    std::uint32_t lengths[kChunk];
    std::size_t used = 0;
    for (std::size_t i = 0; i < count;) {
      const std::uint32_t cell = cell_of[i];
      const auto [candidates, middle] = candidates_of(from, cell);
      for (; i < count && cell_of[i] == cell; ++i) {
        if (neighbours_.size() < used + candidates.count + 2 * kOver) {
          neighbours_.resize(2 * (used + candidates.count + 2 * kOver));
        }
        const Place<T>& at = from.places[first + i];
        begins[i] = used;
        lengths[i] = static_cast<std::uint32_t>(from.loops->select(
            candidates, delta(at.x, middle.at.x) * middle.unit, delta(at.y, middle.at.y) * middle.unit,
            delta(at.z, middle.at.z) * middle.unit, middle.range2, neighbours_.data() + used));
        used += lengths[i];
      }
    }
    by_length(lengths, count, order);
    arrange(*from.loops, first, count, begins, lengths, order, chunk);
    return chunk;
  }

  [[nodiscard]] std::uint64_t entries() const { return entries_; }  // without padding
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Places that the largest chunk needs, with shadows and what may be read beyond.
  [[nodiscard]] std::size_t most_places() const { return most_places_; }

 private:
  /// The stretches around all cells of a chunk, put together where they touch.
  void find_stretches(const Cells& cells, const std::uint32_t* cell_of, std::size_t count, Chunk& chunk) {
    runs_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0 && cell_of[i] == cell_of[i - 1]) continue;
      cells.around(cell_of[i], [&](std::uint32_t a, std::uint32_t b) {
        if (a < b) runs_.emplace_back(a, b);
      });
    }
    std::sort(runs_.begin(), runs_.end());
    stretches_.clear();
    for (const auto& [a, b] : runs_) {
      if (stretches_.empty() || stretches_.back().first + stretches_.back().count < a) {
        stretches_.push_back({a, b - a, 0});
      } else {
        stretches_.back().count = std::max(stretches_.back().count, b - stretches_.back().first);
      }
    }
    for (auto& stretch : stretches_) {
      stretch.to = chunk.places;
      chunk.places += stretch.count;
    }
    if ((chunk.places + count) * kStep < T >> 0xffff) {
      throw cannot("a chunk of particles has " + std::to_string(chunk.places) + " others around it, more than " +
                       std::to_string(0xffff / kStep<T> - count),
                   "use a smaller cutoff, skin or density");
    }
    auto* kept = arena_.take<Stretch>(stretches_.size());
    std::copy(stretches_.begin(), stretches_.end(), kept);
    chunk.stretches = kept;
    chunk.stretch_count = static_cast<std::uint32_t>(stretches_.size());
    most_places_ = std::max(most_places_, chunk.places + kChunk + kOver);
  }

  /// The entry of a particle in the chunk whose stretches were found last.
  [[nodiscard]] std::uint32_t entry_of(std::uint32_t particle) const {
    const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), particle,
                                        [](std::uint32_t one, const Stretch& other) { return one < other.first; });
    return (std::prev(after)->to + particle - std::prev(after)->first) * kStep<T>;
  }

  static T delta(Fixed<T> a, Fixed<T> b) {
    using U = std::make_unsigned_t<Fixed<T>>;
    return static_cast<T>(static_cast<Fixed<T>>(static_cast<U>(a) - static_cast<U>(b)));
  }

  std::pair<Candidates<T>, Middle<T>> candidates_of(const Geometry<T>& from, std::uint32_t cell) {
    constexpr int kUp = 8 * static_cast<int>(sizeof(T)) - 32;
    const auto middle_of = [&](std::uint32_t c) {
      return static_cast<Fixed<T>>(static_cast<std::make_unsigned_t<Fixed<T>>>(from.cells->middle(c)) << kUp);
    };
    const double range = from.range * kSlack;
    const auto at = from.cells->at(cell);
    const Middle<T> middle{{middle_of(at.x), middle_of(at.y), middle_of(at.z), 0},
                           from.unit,
                           static_cast<T>(from.length / from.cells->edge / 2 * kSlack),
                           static_cast<T>(range * range)};
    std::size_t most = 2 * kOver;
    from.cells->around(cell, [&](std::size_t a, std::size_t b) { most += b - a; });
    if (x_.size() < most) {
      for (auto* column : {&x_, &y_, &z_}) column->resize(2 * most);
      entry_.resize(2 * most);
    }
    Candidates<T> found{x_.data(), y_.data(), z_.data(), entry_.data(), 0};
    from.cells->around(cell, [&](std::uint32_t a, std::uint32_t b) {
      if (a < b) from.loops->collect({from.places + a, b - a, entry_of(a)}, middle, found);
    });
    std::fill_n(found.x + found.count, kOver, T(1e15));  // up to a whole vector: in nobody's range
    return {found, middle};
  }

  /// The longest first; those of one length in the order that they have.
  static void by_length(const std::uint32_t* lengths, std::size_t count, std::uint32_t* order) {
    const auto [low, high] = std::minmax_element(lengths, lengths + count);
    constexpr std::uint32_t kMost = 256;
    const std::uint32_t least = *low, most = *high;
    if (most - least >= kMost) {
      std::iota(order, order + count, 0U);
      std::stable_sort(order, order + count, [&](auto a, auto b) { return lengths[a] > lengths[b]; });
      return;
    }
    std::uint32_t begins[kMost + 1] = {};
    for (std::size_t i = 0; i < count; ++i) ++begins[most - lengths[i] + 1];
    for (std::uint32_t k = 1; k <= most - least; ++k) begins[k] += begins[k - 1];
    for (std::size_t i = 0; i < count; ++i) order[begins[most - lengths[i]]++] = static_cast<std::uint32_t>(i);
  }

  void arrange(const Loops<T>& loops, std::size_t first, std::size_t count, const std::size_t* begins,
               const std::uint32_t* lengths, const std::uint32_t* order, Chunk& chunk) {
    const std::size_t lanes = loops.lanes, groups = (count + lanes - 1) / lanes;
    std::size_t rows = groups + 1;
    for (std::size_t g = 0; g < groups; ++g) {
      chunk.rows[g] = lengths[order[g * lanes]];
      rows += chunk.rows[g];
    }
    Entry* to = arena_.template take<Entry>(rows * lanes);
    chunk.list = to;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint32_t* from[kChunk];
      std::uint32_t pads[kChunk], their[kChunk];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const bool there = g * lanes + lane < count;
        const std::size_t k =
            order[std::min(g * lanes + lane, count - 1)];  // beyond the last: again, without neighbours
        from[lane] = neighbours_.data() + begins[k];
        their[lane] = there ? lengths[k] : 0;
        pads[lane] = (chunk.places + static_cast<std::uint32_t>(k)) * kStep<T>;
        to[lane] = static_cast<Entry>(entry_of(static_cast<std::uint32_t>(first + k)));
        entries_ += their[lane];
      }
      loops.transpose(from, their, pads, chunk.rows[g], to + lanes);
      to += (std::size_t{chunk.rows[g]} + 1) * lanes;
      rows_ += chunk.rows[g];
    }
    std::fill_n(to, lanes, Entry{0});
  }

  Arena arena_;
  std::vector<T> x_, y_, z_;  // candidates
  std::vector<std::uint32_t> entry_, neighbours_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs_;
  std::vector<Stretch> stretches_;
  std::uint64_t entries_ = 0, rows_ = 0;
  std::size_t most_places_ = 0;
};

}  // namespace shakedown::lj
