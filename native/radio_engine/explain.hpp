// Every step of one link, for a person.
#pragma once

#include "common/json.hpp"
#include "finder.hpp"

namespace shakedown::radio {

/// The link from one station to another in double precision: the profile, each term of the loss, warnings in words.
/// Throws a usage error where an end is not known.
Object explain(const Finder& finder, const Station& from, const Station& to);

/// Why a place is not known, in words.
const char* words_of(Standing standing);

}  // namespace shakedown::radio
