// The elements that ranks send and what must come of them: the same on the device and on the host, bit by bit. Included
// by kernels too, so it stays plain C++17.
#pragma once

#include "gpu/formats.hpp"

namespace shakedown::gpu_collectives {

using Word = unsigned long long;

constexpr int kFloat = 0, kUint64 = 1;  // what `type` of the kernels is
/// Sums of so many ranks are whole numbers below 2^24, which single precision holds exactly in whatever order they are
/// added: 256 x 4,095 + 32,640 x 127 = 5,193,600.
constexpr int kMostRanks = 256;

/// A rank's element at a place is a + rank b, so that the sum over n ranks is n a + n (n - 1) / 2 b. With b odd no two
/// ranks have the same there, so that what is lost, doubled or from elsewhere shows.
struct Line {
  Word a, b;
};
SHAKEDOWN_BOTH Line line_at(int type, Word seed, Word place) {
  const Word bits = gpu::random_bits(seed, place);
  if (type == kFloat) return {bits & 0xfffu, ((bits >> 12) & 0x3fu) * 2 + 1};
  return {bits, gpu::random_bits(seed + 1, place) | 1u};
}

/// The bits of a whole number as an element.
SHAKEDOWN_BOTH Word element_of(int type, Word whole) {
  return type == kFloat ? Word{gpu::bits_of(static_cast<float>(whole))} : whole;
}
SHAKEDOWN_BOTH Word sent(int type, Word seed, Word place, int rank) {
  const Line line = line_at(type, seed, place);
  return element_of(type, line.a + static_cast<Word>(rank) * line.b);
}

/// Where a rank's result comes from: element i is the sum over `ranks` at place `base` + i, or where `ranks` is 0, the
/// element at place `base` + i % `block` of rank `first` + i / `block`.
struct Origin {
  Word seed, base, block;
  int type, ranks, first;
};
SHAKEDOWN_BOTH Word expected(const Origin& from, Word i) {
  if (from.ranks == 0)
    return sent(from.type, from.seed, from.base + i % from.block, from.first + static_cast<int>(i / from.block));
  const Line line = line_at(from.type, from.seed, from.base + i);
  const Word n = static_cast<Word>(from.ranks);
  return element_of(from.type, n * line.a + n * (n - 1) / 2 * line.b);
}

}  // namespace shakedown::gpu_collectives
