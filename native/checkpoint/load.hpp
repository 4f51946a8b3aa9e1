// What a rank needs of a generation, brought together beside the application's memory, which changes only when all of
// it is there on all ranks. The number of ranks may differ: boxes of the arrays are intersected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "context.hpp"
#include "fetch.hpp"
#include "inventory.hpp"
#include "staging.hpp"

namespace shakedown::checkpoint {

struct Loaded {
  Outcome outcome;                 // MISMATCH: no older generation will fit either; LOST: this one is not whole
  std::shared_ptr<Buffer> buffer;  // the parts in their order, where `regions` says
  std::vector<Region> regions;
  std::uint64_t repaired_blocks = 0;
};

Loaded load(const Context& context, const Candidate& candidate, const std::vector<Protected>& parts);

}  // namespace shakedown::checkpoint
