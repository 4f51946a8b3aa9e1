#include "stripes.hpp"

#include <algorithm>

#include "coding/coding.hpp"
#include "manifest.hpp"

namespace shakedown::checkpoint {

StripePlan::StripePlan(std::vector<std::uint64_t> member_bytes, int losses)
    : bytes_(std::move(member_bytes)), losses_(losses) {
  const auto group = static_cast<std::uint64_t>(members());
  std::uint64_t periods = 0;
  for (const std::uint64_t bytes : bytes_) {
    const auto segments = static_cast<std::uint64_t>(data_blocks());
    periods = std::max(periods, (blocks_of(bytes) + segments - 1) / segments);
  }
  stripes_ = periods * group;
  segment_.assign(group * group, -1);
  for (int member = 0; member < members(); ++member) {
    for (int segment = 0; segment < data_blocks(); ++segment) {
      const auto stripe = static_cast<std::size_t>(coding::segment_of_node(members(), losses_, member, segment).stripe);
      segment_[static_cast<std::size_t>(member) * group + stripe] = segment;
    }
  }
}

int StripePlan::block_of(std::uint64_t stripe, int member) const {
  return coding::block_of_node(members(), losses_, static_cast<int>(stripe % bytes_.size()), member);
}

int StripePlan::member_of(std::uint64_t stripe, int block) const {
  return coding::node_of_block(members(), losses_, static_cast<int>(stripe % bytes_.size()), block);
}

std::uint64_t StripePlan::index_of(std::uint64_t stripe, int member) const {
  const std::size_t group = bytes_.size();
  const int segment = segment_[static_cast<std::size_t>(member) * group + stripe % group];
  return stripe / group * static_cast<std::uint64_t>(data_blocks()) + static_cast<std::uint64_t>(segment);
}

std::uint64_t StripePlan::stripe_of(int member, std::uint64_t index) const {
  const auto segments = static_cast<std::uint64_t>(data_blocks());
  const auto place = coding::segment_of_node(members(), losses_, member, static_cast<int>(index % segments));
  return index / segments * bytes_.size() + static_cast<std::uint64_t>(place.stripe);
}

std::uint64_t StripePlan::data_bytes(std::uint64_t stripe, int member) const {
  return block_bytes(bytes_[static_cast<std::size_t>(member)], index_of(stripe, member));
}

std::uint64_t StripePlan::length(std::uint64_t stripe) const {
  std::uint64_t longest = 0;
  for (int block = 0; block < data_blocks(); ++block) {
    longest = std::max(longest, data_bytes(stripe, member_of(stripe, block)));
  }
  return longest;
}

std::vector<StripePlan::Parity> StripePlan::parity_of(int member) const {
  std::vector<Parity> found;
  std::uint64_t at = 0;
  for (std::uint64_t stripe = 0; stripe < stripes_; ++stripe) {
    if (block_of(stripe, member) < data_blocks()) continue;
    found.push_back({stripe, at, length(stripe)});
    at += found.back().bytes;
  }
  return found;
}

}  // namespace shakedown::checkpoint
