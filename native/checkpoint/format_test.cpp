// What is pure: manifests that were spoiled in any way, boxes, places, stripes, intervals.
#include <algorithm>
#include <cmath>
#include <random>

#include "boxes.hpp"
#include "coding/coding.hpp"
#include "interval.hpp"
#include "inventory.hpp"
#include "staging.hpp"
#include "stripes.hpp"
#include "testing/check.hpp"
#include "topology.hpp"

using namespace shakedown::checkpoint;

namespace {

shakedown::Checks checks;

Manifest sample() {
  Manifest manifest;
  manifest.generation = 7;
  manifest.level = 3;
  manifest.rank = 2;
  manifest.ranks = 5;
  manifest.data_bytes = 3 * kBlockBytes / 2;
  manifest.checksums = {1, 2};
  manifest.regions = {{"u", 12, {{4, 8}, {16, 8}, {4, 0}}, 0, 256}, {std::string(5000, 'n'), 0, {{}, {}, {}}, 256, 1}};
  manifest.members = {0, 1, 2};
  return manifest;
}

/// Sealed again after the change, so that the checksum does not help.
Bytes resealed(const Bytes& bytes) {
  const auto content = std::span(bytes).first(bytes.size() - 4);
  Packer packer;
  packer.raw(content);
  packer.u32(shakedown::coding::crc32c(content.data(), content.size()));
  return packer.take();
}

void manifests() {
  const Bytes whole = encode_manifest(sample());
  std::string why;
  const auto back = decode_manifest(whole, why);
  checks.that(back && encode_manifest(*back) == whole, "a manifest comes back as it was");
  std::mt19937_64 random(1);
  for (std::size_t length = 0; length < whole.size(); length += 1 + length / 50) {
    checks.that(!decode_manifest(std::span(whole).first(length), why) && !why.empty(), "a part of one is refused");
  }
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Bytes spoiled = whole;
    spoiled[random() % spoiled.size()] ^= static_cast<std::uint8_t>(1U << random() % 8);
    checks.that(!decode_manifest(spoiled, why), "a turned bit is seen");
    Bytes sealed = whole;
    for (int change = 0; change < 3; ++change) sealed[12 + random() % 120] = static_cast<std::uint8_t>(random());
    const auto found = decode_manifest(resealed(sealed), why);
    refused += found ? 0 : 1;
    // What is taken holds together: whoever reads by it stays within the data.
    for (const Region& region : found ? found->regions : std::vector<Region>()) {
      checks.that(region.at + region.bytes <= found->data_bytes && region.at <= found->data_bytes,
                  "a region within the data");
    }
  }
  checks.that(refused > 0, "nonsense with a right checksum is refused too");
  std::vector<Holding> holdings;
  unpack_holdings(std::span(whole), holdings);
}

/// Boxes of any size and place against element by element.
void boxes() {
  std::mt19937_64 random(2);
  const auto drawn = [&](std::uint64_t below) { return random() % below; };
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t dimensions = 1 + drawn(4);
    Box from;
    Box to;
    for (std::size_t d = 0; d < dimensions; ++d) {
      from.global.push_back(1 + drawn(7));
      for (Box* box : {&from, &to}) {
        box->offset.push_back(drawn(from.global[d]));
        box->local.push_back(1 + drawn(from.global[d] - box->offset[d]));
      }
    }
    to.global = from.global;
    std::vector<std::uint64_t> moved(*volume(to.local), ~0ULL);
    const auto shared = overlap_of(from, to);
    if (shared) {
      for_each_shared_run(from, to, *shared, [&](const SharedRun& run) {
        for (std::uint64_t at = 0; at < run.elements; ++at) moved[run.to + at] = run.from + at;
      });
    }
    std::uint64_t count = 0;
    for (std::uint64_t place = 0; place < moved.size(); ++place) {
      std::uint64_t left = place;
      std::uint64_t source = 0;
      std::uint64_t scale = 1;
      bool inside = true;
      for (std::size_t d = dimensions; d-- > 0;) {
        const std::uint64_t index = left % to.local[d] + to.offset[d];
        left /= to.local[d];
        inside = inside && index >= from.offset[d] && index < from.offset[d] + from.local[d];
        source += (index - from.offset[d]) * scale;
        scale *= from.local[d];
      }
      count += inside ? 1 : 0;
      checks.that(moved[place] == (inside ? source : ~0ULL), "each element goes to its place, others to none");
    }
    std::vector<Overlap> parts;
    if (shared) parts = {*shared, *shared};
    checks.that(covered(to, parts) == (count == moved.size()), "covered where every element is");
  }
}

void places() {
  for (int nodes = 1; nodes <= 9; ++nodes) {
    for (int domains = 1; domains <= nodes; ++domains) {
      std::vector<Place> all;
      all.reserve(2 * static_cast<std::size_t>(nodes));
      for (int rank = 0; rank < 2 * nodes; ++rank)
        all.push_back({std::to_string(rank / 2), std::to_string(rank / 2 % domains)});
      const Topology topology(all);
      for (int rank = 0; rank < 2 * nodes; ++rank) {
        const int partner = topology.partner_of(rank);
        checks.that((partner < 0) == (domains == 1), "a partner where there are two domains");
        if (partner >= 0) {
          checks.that(all[static_cast<std::size_t>(partner)].domain != all[static_cast<std::size_t>(rank)].domain,
                      "in another domain");
          const auto& copies = topology.copies_at(partner);
          checks.that(std::count(copies.begin(), copies.end(), rank) == 1, "who knows of it");
        }
        const Group group = topology.group_of(rank, 4, 2);
        for (const int member : group.members) {
          checks.that(topology.group_of(member, 4, 2).members == group.members, "members agree on their group");
        }
      }
    }
  }
}

void stripes() {
  const StripePlan plan({5 * std::uint64_t{kBlockBytes}, 1, 0, 2 * std::uint64_t{kBlockBytes} + 7, 3}, 2);
  for (int member = 0; member < plan.members(); ++member) {
    for (std::uint64_t index = 0; index < 5; ++index) {
      const std::uint64_t stripe = plan.stripe_of(member, index);
      if (stripe >= plan.stripes()) continue;
      checks.that(plan.block_of(stripe, member) < plan.data_blocks(), "data where the plan says");
      checks.equal(plan.index_of(stripe, member), index, "and back");
      checks.equal(plan.member_of(stripe, plan.block_of(stripe, member)), member, "the block's member");
    }
  }
}

/// The vectors of the published studies: costs of 5, 12, 25 and 300 s, restarts of 30, 60, 90 and 600 s.
void intervals() {
  std::array<LevelCost, kLevels> levels = {};
  const double cost[] = {0, 5, 12, 25, 300};
  const double restart[] = {0, 30, 60, 90, 600};
  for (std::size_t level = 1; level < levels.size(); ++level) levels[level] = {true, cost[level], 0, restart[level]};
  const Intervals found = best_intervals(levels, 6 * 3600.0);
  const double expected[] = {0, 600.0, 1004.0, 2649.5, 24372.1};
  for (std::size_t level = 1; level < levels.size(); ++level) {
    checks.that(std::fabs(found.seconds[level] / expected[level] - 1) < 1e-4,
                "the interval of level " + std::to_string(level));
  }
  checks.that(std::fabs(found.waste - 0.06555) < 1e-5, "the waste");
}

}  // namespace

int main() {
  manifests();
  boxes();
  places();
  stripes();
  intervals();
  return checks.end();
}
