#include "network.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace shakedown::radio {
namespace {

std::size_t pairs_of(std::size_t radios) { return radios < 2 ? 0 : radios * (radios - 1) / 2; }

/// Memory for so many losses; none of a size of 0.
Buffer losses_memory(std::size_t pairs) { return pairs == 0 ? Buffer() : Buffer(pairs * sizeof(float), Pages::huge); }

/// Whether a pair is to be reported that was last reported with `before`.
bool is_news(float now, float before, float above_db, float below_db) {
  const bool usable = now <= below_db, was = before <= below_db;
  return usable ? !was || std::fabs(now - before) > above_db : was;
}

constexpr std::size_t kViewsTried = 64;

}  // namespace

std::size_t bring_forward(std::vector<std::uint32_t>& all, std::size_t some) {
  if (all.size() <= some) return all.size();
  for (std::size_t k = 0; k < some; ++k) std::swap(all[k], all[k * all.size() / some]);
  return some;
}

std::uint64_t views_bytes(std::uint64_t tried_bytes, std::size_t tried, std::size_t left, std::uint64_t held_bytes) {
  if (tried == 0) return 0;
  const auto needed = static_cast<std::uint64_t>(static_cast<double>(tried_bytes) / static_cast<double>(tried) *
                                                 static_cast<double>(left));
  return needed > held_bytes ? needed - held_bytes : 0;
}

Network::Network(Team& team, const Finder& finder)
    : team_(team), finder_(finder), scratch_(static_cast<std::size_t>(team.size())) {}

void Network::place(std::vector<Station> stations) {
  const std::size_t pairs = pairs_of(stations.size());
  if (stations.size() != stations_.size()) {
    // Twice: what was last reported is as large.
    const MemoryRoom room = memory_room();
    const std::uint64_t held = loss_db_.bytes() + reported_db_.bytes();
    const MemoryRoom with_ours{room.bytes > UINT64_MAX - held ? room.bytes : room.bytes + held, room.what};
    require_memory(2 * pairs * sizeof(float), "the losses of " + std::to_string(stations.size()) + " radios",
                   with_ours);
    stations_.clear();  // where the kernel refuses the memory all the same, there are none
    loss_db_ = Buffer();
    reported_db_ = Buffer();
    loss_db_ = losses_memory(pairs);
  }
  stations_ = std::move(stations);
  for (std::size_t radio = 0; radio < stations_.size(); ++radio)
    stations_[radio].id = static_cast<std::uint32_t>(radio);
  outdated_.assign(stations_.size(), 1);
  unreported_.assign(stations_.size(), 1);
  outdated_count_ = stations_.size();
  all_unreported_ = true;
  std::ranges::fill(reported_db_.as<float>(), std::numeric_limits<float>::quiet_NaN());
}

void Network::move(std::span<const std::uint32_t> index, std::span<const Station> stations) {
  for (std::size_t k = 0; k < index.size(); ++k) {
    const std::uint32_t radio = index[k];
    stations_[radio] = stations[k];
    stations_[radio].id = radio;
    if (outdated_[radio] == 0) ++outdated_count_;
    outdated_[radio] = unreported_[radio] = 1;
  }
}

/// The pairs whose losses are to be found, by where the radios stand in the grid; what stands nowhere comes last.
NearPairs Network::outdated_pairs() const {
  std::vector<double> column, row;
  for (const Station& station : stations_) {
    const bool known = station.standing == Standing::known;
    column.push_back(known ? station.column : std::nan(""));
    row.push_back(known ? station.row : std::nan(""));
  }
  return {column, row, outdated_, static_cast<std::size_t>(team_.size())};
}

/// The views of radios that moved, which all links of a radio share. Nobody knows before how large they are: some are
/// found first, and the memory of the others is asked for by these.
void Network::see_anew() {
  if (finder_.tracing() == nullptr) return;
  std::vector<std::uint32_t> seeing;
  for (std::uint32_t radio = 0; radio < stations_.size(); ++radio) {
    if (outdated_[radio] != 0 && stations_[radio].standing == Standing::known) seeing.push_back(radio);
  }
  const std::size_t tried = bring_forward(seeing, kViewsTried);
  see({seeing.data(), tried});
  std::uint64_t bytes = 0, held = 0;
  for (std::size_t k = 0; k < seeing.size(); ++k) {
    const auto& view = stations_[seeing[k]].view;
    if (view != nullptr) (k < tried ? bytes : held) += bytes_of(*view);
  }
  const std::size_t left = seeing.size() - tried;
  if (left > 0) {
    require_memory(views_bytes(bytes, tried, left, held),
                   "the views of " + std::to_string(left) + " radios in the town");
  }
  see({seeing.data() + tried, left});
}

void Network::see(std::span<const std::uint32_t> radios) {
  std::atomic<std::size_t> next{0};
  team_.run([&](int thread) {
    for (std::size_t at = next.fetch_add(1); at < radios.size(); at = next.fetch_add(1)) {
      Station& station = stations_[radios[at]];
      station.view = finder_.tracing()->view(station, scratch_[static_cast<std::size_t>(thread)].finder.tracing);
    }
  });
}

void Network::find(std::span<const PlacePair> pairs, Scratch& scratch) {
  scratch.ways.clear();
  for (const auto& [low, high] : pairs) scratch.ways.push_back({&stations_[low], &stations_[high]});
  scratch.loss_db.resize(pairs.size());
  finder_.losses(scratch.ways, scratch.finder, scratch.loss_db.data());
  const std::span<float> losses = loss_db_.as<float>();
  for (std::size_t k = 0; k < pairs.size(); ++k) losses[link(pairs[k].low, pairs[k].high)] = scratch.loss_db[k];
}

std::span<const float> Network::losses() {
  if (outdated_count_ > 0) {
    see_anew();
    const NearPairs pairs = outdated_pairs();
    std::atomic<std::size_t> next{0};
    team_.run([&](int thread) {
      Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
      for (std::size_t at = next.fetch_add(1); at < pairs.tasks(); at = next.fetch_add(1)) {
        pairs.each(at, scratch.pairs, [&](std::span<const PlacePair> some) { find(some, scratch); });
      }
    });
    std::ranges::fill(outdated_, 0);
    outdated_count_ = 0;
  }
  return loss_db_.as<float>().first(pairs_of(stations_.size()));
}

Pairs Network::links(float below_db) {
  const std::span<const float> all = losses();
  Pairs found;
  std::size_t at = 0;
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    for (std::size_t j = i + 1; j < stations_.size(); ++j, ++at) {
      if (all[at] <= below_db) found.add(i, j, all[at]);
    }
  }
  return found;
}

Pairs Network::changes(float above_db, float below_db) {
  const std::span<const float> all = losses();
  if (reported_db_.bytes() == 0 && !all.empty()) {
    reported_db_ = losses_memory(all.size());
    std::ranges::fill(reported_db_.as<float>(), std::numeric_limits<float>::quiet_NaN());
  }
  const std::span<float> reported = reported_db_.as<float>();
  const bool every = all_unreported_ || above_db != last_above_db_ || below_db != last_below_db_;
  std::vector<std::size_t> moved;
  for (std::size_t radio = 0; radio < stations_.size(); ++radio) {
    if (unreported_[radio] != 0) moved.push_back(radio);
  }
  Pairs found;
  const auto look = [&](std::size_t i, std::size_t j) {
    const std::size_t at = link(i, j);
    if (!is_news(all[at], reported[at], above_db, below_db)) return;
    found.add(i, j, all[at]);
    reported[at] = all[at];
  };
  for (std::size_t i = 0; i < stations_.size(); ++i) {
    if (every || unreported_[i] != 0) {
      for (std::size_t j = i + 1; j < stations_.size(); ++j) look(i, j);
    } else {
      for (auto j = std::ranges::upper_bound(moved, i); j != moved.end(); ++j) look(i, *j);
    }
  }
  std::ranges::fill(unreported_, 0);
  all_unreported_ = false;
  last_above_db_ = above_db;
  last_below_db_ = below_db;
  return found;
}

}  // namespace shakedown::radio
