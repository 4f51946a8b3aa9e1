#include "layout.hpp"

#include <algorithm>
#include <bit>

#include "content.hpp"

namespace shakedown::storage {
namespace {

constexpr std::uint64_t kOwnSegments = 16;
constexpr int kFeistelRounds = 4;

/// Where the transfer `place` of a writer's own part lies.
std::uint64_t laid(const Layout& layout, std::uint64_t writer, std::uint64_t place) {
  if (layout.files == Files::own) return place * layout.transfer;
  const std::uint64_t each = layout.transfers / layout.segments;
  return ((place / each * layout.writers + writer) * each + place % each) * layout.transfer;
}

}  // namespace

std::uint64_t segments_of(const Layout& layout, std::uint64_t given) {
  if (given > 0) return given;
  if (layout.order != Order::strided) return 1;
  if (layout.files == Files::shared) return layout.transfers;
  std::uint64_t most = std::min(kOwnSegments, layout.transfers);
  while (layout.transfers % most != 0) --most;
  return most;
}

std::uint64_t permuted(std::uint64_t number, std::uint64_t count, std::uint64_t key) {
  if (count < 2) return number;
  const int half = static_cast<int>(std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = number >> half;
    std::uint64_t right = number & mask;
    for (int round = 0; round < kFeistelRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(right + mixed(key + static_cast<std::uint64_t>(round) + 1)) & mask);
      left = right;
      right = next;
    }
    number = (left << half) | right;
  } while (number >= count);
  return number;
}

std::uint64_t offset_of(const Layout& layout, std::uint64_t writer, std::uint64_t index) {
  switch (layout.order) {
    case Order::sequential:
      return laid(layout, writer, index);
    case Order::strided: {
      if (layout.files == Files::shared) return laid(layout, writer, index);
      const std::uint64_t each = layout.transfers / layout.segments;
      return laid(layout, writer, index % layout.segments * each + index / layout.segments);
    }
    case Order::random:
      break;
  }
  if (layout.files == Files::own) return laid(layout, writer, permuted(index, layout.transfers, writer));
  const std::uint64_t all = layout.transfers * layout.writers;
  return permuted(index * layout.writers + writer, all, 0) * layout.transfer;
}

}  // namespace shakedown::storage
