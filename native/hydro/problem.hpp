// What is computed: the gas at the start, and where it is known, the gas later.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hydro.hpp"

namespace shakedown::hydro {

/// blast: gas at rest, all energy in the corner cell. sod_x, sod_y: Sod's tube along a dimension. checkers: squares of
/// Sod's two states, so that every cell is at work soon.
enum class Problem : std::uint8_t { blast, sod_x, sod_y, checkers };

/// Throws a usage error for another word.
Problem parse_problem(const std::string& word);
const char* word(Problem problem);

/// What is conserved in a cell of a grid at the start, in the order of Conserved.
std::array<double, kVariables> at_start(Problem problem, std::int64_t columns, std::int64_t rows, std::int64_t column,
                                        std::int64_t row);

/// A state along a line: density, velocity, pressure.
struct LineState {
  double density, velocity, pressure;
};
inline constexpr LineState kSodLeft = {1, 0, 1}, kSodRight = {0.125, 0, 0.1};

/// The exact solution of a Riemann problem at x / t from the place of the diaphragm. E. F. Toro, Riemann Solvers and
/// Numerical Methods for Fluid Dynamics, chapter 4. The states must leave no vacuum.
LineState exact_riemann(const LineState& left, const LineState& right, double x_t);

}  // namespace shakedown::hydro
