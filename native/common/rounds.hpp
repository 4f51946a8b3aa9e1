// Rounds of disjoint groups that measure at the same time: what a file of them says. Pure.
#pragma once

#include <string>
#include <vector>

namespace shakedown {

/// Disjoint groups of ranks (of GPUs: of their places among those in use); some may rest.
using Round = std::vector<std::vector<int>>;

struct Rounds {
  std::vector<Round> rounds;
  std::vector<std::string> absent;  // places that the text names and the job does not have, each once
};

/// How ranks are called: by their host, and where a host has several, `host:0`, `host:1` and so on.
std::vector<std::string> place_names(const std::vector<std::string>& hosts);

/// What a member that is not the name of a place means: the number of a rank, or a place that this job does not have.
enum class Numbers { are_ranks, are_absent };

/// A round a line, a group a word, members separated by commas: places by name, or ranks by number. Members that are
/// absent are left out, and groups of fewer than two as well. Throws a usage error for a rank that is not there, a
/// place that is twice in a round, and a text without any group.
Rounds parse_rounds(const std::string& text, const std::vector<std::string>& places,
                    Numbers numbers = Numbers::are_ranks);

}  // namespace shakedown
