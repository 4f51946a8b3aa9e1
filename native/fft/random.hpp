// Numbers that look random and follow from a place alone.
#pragma once

#include <cstdint>

namespace shakedown {

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014): the output for state x.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace shakedown
