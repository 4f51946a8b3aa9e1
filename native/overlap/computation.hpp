// The computation: floating-point work in registers, whose time grows with its iterations and with nothing else.
#pragma once

#include <cstdint>

namespace shakedown::overlap {

/// So many dependent multiply-adds: 1 - 0.5 q^n, with q = 0.999999. Touches no memory, so that what an operation does
/// to the caches does not slow it down.
double compute(std::int64_t iterations);

/// Piece `piece` of `pieces` nearly equal ones of so many iterations; together they are all of them.
std::int64_t piece_of(std::int64_t iterations, int piece, int pieces);

}  // namespace shakedown::overlap
