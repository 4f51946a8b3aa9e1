#include "links.hpp"

#include <algorithm>
#include <cmath>

#include "common/error.hpp"
#include "common/text.hpp"

namespace shakedown::radio_forwarder {
namespace {

constexpr double kLight_m_s = 299'792'458;
constexpr float kFarthest_m = 1e9F;  // 3.3 s of light: beyond the Moon

bool before(const Neighbour& neighbour, std::uint32_t node) { return neighbour.node < node; }

void check(const LinkChange& link, std::uint32_t nodes) {
  const bool ids = link.from >= 1 && link.from <= nodes && link.to >= 1 && link.to <= nodes && link.from != link.to;
  const bool numbers = !std::isinf(link.snr_db) && link.distance_m >= 0 && link.distance_m <= kFarthest_m;
  if (ids && numbers) return;
  throw usage(
      print("a link from %u to %u of %g dB and %g m", link.from, link.to, static_cast<double>(link.snr_db),
            static_cast<double>(link.distance_m)),
      print("two different nodes from 1 to %u, a finite ratio (NaN: out of range), a distance of 0 to 1e9 m", nodes));
}

}  // namespace

void Links::change(std::span<const LinkChange> changes) {
  for (const LinkChange& link : changes) check(link, nodes());
  for (const LinkChange& link : changes) {
    Transmitter& transmitter = of(link.from);
    const std::lock_guard guard(transmitter.lock);
    auto& all = transmitter.neighbours;
    const auto at = std::lower_bound(all.begin(), all.end(), link.to, before);
    const bool there = at != all.end() && at->node == link.to;
    if (std::isnan(link.snr_db)) {
      if (there) all.erase(at);
      continue;
    }
    const Neighbour neighbour{link.to, reception(waveform_, static_cast<double>(link.snr_db)),
                              static_cast<std::int64_t>(static_cast<double>(link.distance_m) / kLight_m_s * 1e9)};
    if (there)
      *at = neighbour;
    else
      all.insert(at, neighbour);
  }
}

std::size_t Links::count() {
  std::size_t found = 0;
  for (Transmitter& transmitter : transmitters_) {
    const std::lock_guard guard(transmitter.lock);
    found += transmitter.neighbours.size();
  }
  return found;
}

const Neighbour* find(const Transmitter& transmitter, std::uint32_t node) {
  const auto& all = transmitter.neighbours;
  const auto at = std::lower_bound(all.begin(), all.end(), node, before);
  return at != all.end() && at->node == node ? &*at : nullptr;
}

}  // namespace shakedown::radio_forwarder
