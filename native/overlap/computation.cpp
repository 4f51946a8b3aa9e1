#include "computation.hpp"

namespace shakedown::overlap {

double compute(std::int64_t iterations) {
  double value = 0.5;  // goes to 1, and not even near it within any time: no iteration can be left out
  for (std::int64_t i = 0; i < iterations; ++i) value = value * 0.999999 + 1e-6;
  return value;
}

std::int64_t piece_of(std::int64_t iterations, int piece, int pieces) {
  const std::int64_t each = iterations / pieces;
  const std::int64_t more = iterations % pieces;
  return each + (piece < more ? 1 : 0);
}

}  // namespace shakedown::overlap
