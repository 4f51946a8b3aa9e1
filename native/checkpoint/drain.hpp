// From what is staged to a committed generation: what a helper does for each checkpoint. All helpers do the same jobs
// in the same order; one that fails in its part says so, and the job ends for all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context.hpp"
#include "staging.hpp"

namespace shakedown::checkpoint {

struct Drained {
  int level = 0;        // the level at which the generation is committed on all ranks; 0: it is not
  bool agreed = false;  // whether the ranks came to know that together
  std::vector<std::string> problems;
};

/// Writes the staged state for `job` at the level of its manifest.
Drained drain(const Context& context, const std::shared_ptr<const Staged>& staged, std::uint64_t job);

/// Removes what this rank has in a folder of a generation that is not committed there.
void discard(const Context& context, Folder* folder, std::uint64_t generation);

/// The bits that all ranks have, or nothing where a rank did not answer.
std::optional<std::uint32_t> agree(const Context& context, std::uint64_t job, std::uint32_t bits);

/// Sends the state to the partner and keeps those of others. True when all of it is durable here.
Outcome exchange_copies(const Context& context, const std::shared_ptr<const Staged>& staged, std::uint64_t job);

/// Sends the state to the group and keeps this rank's part of its parity.
Outcome exchange_parity(const Context& context, const std::shared_ptr<const Staged>& staged, std::uint64_t job);

}  // namespace shakedown::checkpoint
