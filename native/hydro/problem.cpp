#include "problem.hpp"

#include <cmath>

#include "common/error.hpp"

namespace shakedown::hydro {
namespace {

struct Named {
  const char* word;
  Problem problem;
};
constexpr Named kProblems[] = {
    {"blast", Problem::blast}, {"sod_x", Problem::sod_x}, {"sod_y", Problem::sod_y}, {"checkers", Problem::checkers}};

// The blast of HydroC's input: cells of 0.05, density 1, energy 1e-5 a unit of area, and 1 in the corner cell.
constexpr double kBlastCell = 0.05, kBlastAround = 1e-5;
constexpr std::int64_t kSquare = 16;  // cells along an edge of a square of `checkers`

std::array<double, kVariables> at_rest(const LineState& state) {
  return {state.density, 0, 0, state.pressure / (kGamma - 1)};
}

/// What a wave changes of the velocity when it takes the pressure of `state` to p, and the slope of that.
struct Change {
  double value, slope;
};
Change change_over(const LineState& state, double p) {
  const double c = std::sqrt(kGamma * state.pressure / state.density);
  if (p > state.pressure) {  // a shock
    const double a = 2 / ((kGamma + 1) * state.density), b = (kGamma - 1) / (kGamma + 1) * state.pressure;
    const double root = std::sqrt(a / (p + b));
    return {(p - state.pressure) * root, root * (1 - (p - state.pressure) / (2 * (p + b)))};
  }
  const double ratio = p / state.pressure;
  return {2 * c / (kGamma - 1) * (std::pow(ratio, (kGamma - 1) / (2 * kGamma)) - 1),
          std::pow(ratio, -(kGamma + 1) / (2 * kGamma)) / (state.density * c)};
}

/// The state at x_t of the gas whose wave runs to the left into `side`, up to the contact.
LineState left_wave(const LineState& side, double p, double u, double x_t) {
  const double c = std::sqrt(kGamma * side.pressure / side.density), ratio = p / side.pressure;
  constexpr double kRatio = (kGamma - 1) / (kGamma + 1);
  if (p > side.pressure) {
    const double speed =
        side.velocity - c * std::sqrt((kGamma + 1) / (2 * kGamma) * ratio + (kGamma - 1) / (2 * kGamma));
    if (x_t < speed) return side;
    return {side.density * (ratio + kRatio) / (kRatio * ratio + 1), u, p};
  }
  const double behind = c * std::pow(ratio, (kGamma - 1) / (2 * kGamma));
  if (x_t < side.velocity - c) return side;
  if (x_t > u - behind) return {side.density * std::pow(ratio, 1 / kGamma), u, p};
  const double part = 2 / (kGamma + 1) + kRatio / c * (side.velocity - x_t);
  return {side.density * std::pow(part, 2 / (kGamma - 1)),
          2 / (kGamma + 1) * (c + (kGamma - 1) / 2 * side.velocity + x_t),
          side.pressure * std::pow(part, 2 * kGamma / (kGamma - 1))};
}

}  // namespace

Problem parse_problem(const std::string& word) {
  std::string known;
  for (const auto& one : kProblems) {
    if (word == one.word) return one.problem;
    known += (known.empty() ? "" : ", ") + std::string(one.word);
  }
  throw usage("--problem: unknown problem '" + word + "'", "known: " + known);
}

const char* word(Problem problem) {
  for (const auto& one : kProblems) {
    if (one.problem == problem) return one.word;
  }
  return "";
}

std::array<double, kVariables> at_start(Problem problem, std::int64_t columns, std::int64_t rows, std::int64_t column,
                                        std::int64_t row) {
  switch (problem) {
    case Problem::blast:
      return {1, 0, 0, column == 0 && row == 0 ? 1 / (kBlastCell * kBlastCell) : kBlastAround};
    case Problem::sod_x:
      return at_rest(2 * column < columns ? kSodLeft : kSodRight);
    case Problem::sod_y:
      return at_rest(2 * row < rows ? kSodLeft : kSodRight);
    case Problem::checkers:
      break;
  }
  return at_rest((column / kSquare + row / kSquare) % 2 == 0 ? kSodLeft : kSodRight);
}

LineState exact_riemann(const LineState& left, const LineState& right, double x_t) {
  double p = (left.pressure + right.pressure) / 2, u = 0;
  for (int k = 0; k < 100; ++k) {
    const Change a = change_over(left, p), b = change_over(right, p);
    const double next =
        std::fmax(p - (a.value + b.value + right.velocity - left.velocity) / (a.slope + b.slope), p / 100);
    const bool done = std::fabs(next - p) <= 1e-14 * p;
    p = next;
    u = (left.velocity + right.velocity + b.value - a.value) / 2;
    if (done) break;
  }
  if (x_t <= u) return left_wave(left, p, u, x_t);
  // The right wave is the left one in a mirror.
  const LineState turned = left_wave({right.density, -right.velocity, right.pressure}, p, -u, -x_t);
  return {turned.density, -turned.velocity, turned.pressure};
}

}  // namespace shakedown::hydro
