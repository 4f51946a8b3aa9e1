// The pivot that the ranks of a process column agree on: one message is maximum, exchange and broadcast of the rows.
#pragma once

#include <vector>

#include "hpl.hpp"

namespace shakedown::hpl {

/// Of two candidates for the pivot, the message that wins: the larger magnitude, at a tie the upper row. Which of them
/// holds the row that gives way is kept. Layout: magnitude, global row, holds current, unused, pivot row, current row.
void merge_pivots(std::vector<double>& mine, const std::vector<double>& other);
inline constexpr Index kPivotHead = 4;

/// Exchange a candidate with the process column, by doubling distances; ranks beyond the largest power of two hand
/// theirs to one below it and get the winner back. `other` is room for what comes. Only the MPI thread calls it.
void exchange_pivots(std::vector<double>& mine, std::vector<double>& other, const Grid& grid);

}  // namespace shakedown::hpl
