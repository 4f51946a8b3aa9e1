// Losses from one place to all cells of a picture.
#pragma once

#include <vector>

#include "common/team.hpp"
#include "finder.hpp"

namespace shakedown::radio {

/// A picture's cells, from the north-west, row by row. A loss is that to the middle of a cell.
struct Picture {
  std::size_t rows, columns;
  double south_deg, west_deg, north_deg, east_deg;
  double receiver_m;  // above ground
};

/// Throws a usage error for a picture without area, and "could not measure" where the memory does not hold it.
std::vector<float> coverage(Team& team, const Finder& finder, const Station& from, const Picture& picture);

}  // namespace shakedown::radio
