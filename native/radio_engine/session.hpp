// Answers requests until the pipe ends: the protocol of README.md.
#pragma once

#include "common/team.hpp"
#include "finder.hpp"

namespace shakedown::radio {

/// Reads requests from one file and writes replies to the other. A request that is refused changes nothing, and the
/// next is read; a frame that is broken ends the session by an error.
void serve_requests(int requests, int replies, Team& team, const Finder& finder);

}  // namespace shakedown::radio
