// Sizes of what is made of 64-bit words: what a command line may name.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/error.hpp"

namespace shakedown::collectives {

/// Bytes that are whole words, no more of them than an MPI call counts. Throws a usage error.
inline std::vector<std::size_t> word_sizes(const std::vector<std::int64_t>& given) {
  constexpr std::int64_t kWord = 8;
  std::vector<std::size_t> sizes;
  for (const auto bytes : given) {
    if (bytes % kWord != 0) {
      throw usage("--sizes: " + std::to_string(bytes) + " bytes are not a whole number of 64-bit words",
                  "the data are words of 8 bytes: name multiples of 8");
    }
    if (bytes / kWord > std::numeric_limits<int>::max()) {
      throw usage("--sizes: " + std::to_string(bytes) + " bytes are more words than an MPI call counts (2^31 - 1)",
                  "at most 17179869176");
    }
    sizes.push_back(static_cast<std::size_t>(bytes));
  }
  return sizes;
}

}  // namespace shakedown::collectives
