// The options of a channel, which the forwarder and the programs that measure it share.
#pragma once

#include "common/args.hpp"
#include "forwarder.hpp"

namespace shakedown::radio_forwarder {

/// Declares them, and reads what was given. Throws a usage error for what cannot be.
Channel parse_channel(Args& args);

}  // namespace shakedown::radio_forwarder
