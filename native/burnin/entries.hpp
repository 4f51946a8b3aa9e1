// What the GPU's kernels and the host agree on. Included by kernels too, so it stays plain C++17.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/formats.hpp"
#include "patterns.hpp"

namespace shakedown::burnin {

/// An operand's number at a place: all bits of the mantissa random, magnitude in [0.5, 1), sign random.
SHAKEDOWN_BOTH double gpu_operand(unsigned stream, std::uint64_t index) {
  const std::uint64_t random = gpu::random_bits(stream, static_cast<std::size_t>(index));
  const std::uint64_t bits =
      (random & (std::uint64_t{1} << 63)) | (std::uint64_t{1022} << 52) | (random & ((std::uint64_t{1} << 52) - 1));
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/// Words that are not as they must be: how many, and the places of some of them with what was there.
struct Wrongs {
  static constexpr unsigned kMost = 16;
  unsigned long long count;
  unsigned long long index[kMost], expected[kMost], found[kMost];
};

}  // namespace shakedown::burnin
