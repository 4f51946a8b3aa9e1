// A profile for those who want one link in every step.
#include <limits>

#include "loops.hpp"

namespace shakedown::radio {

std::vector<double> profile_of(const Ground& ground, const Route& route, int points) {
  using One = Lanes<double, 1>;
  if (!is_usable(route, ground, points)) return {};
  std::vector<double> heights_m(static_cast<std::size_t>(points));
  One level_m[1];
  const Ways<One> ways = ways_of<One>(&route, 1, ground, points);
  const bool known = sample_profiles<One>(ways, ground, points, heights_m.data(), level_m).any();
  for (double& height : heights_m) {
    height = known ? height + level_m[0][0] : std::numeric_limits<double>::quiet_NaN();
  }
  return heights_m;
}

}  // namespace shakedown::radio
