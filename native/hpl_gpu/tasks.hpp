// What kernels are told, and what blocks, device and host tell each other: plain structures, laid out alike by the
// compilers of the host and of the device (C++17).
#pragma once

#include <cstdint>

#include "hpl/lcg.hpp"

namespace shakedown::hpl_gpu {

using hpl::Cyclic;
using hpl::Index;

inline constexpr int kBase = 32;          // columns of a base panel: a warp's lanes
inline constexpr int kMostThreads = 512;  // of a block of the base panel's kernel
inline constexpr int kTile = 32;

/// This rank's part of [A b], n x (n + 1).
struct Part {
  Index n = 0;
  Cyclic rows, columns;
  int row = 0, column = 0;      // of the grid
  Index height = 0, width = 0;  // local rows and columns
};

/// A candidate for the pivot, with its row of the base panel; or a row of the base panel alone.
struct Slot {
  std::uint64_t sequence = 0;  // of the column that it is for; written last
  double magnitude = -1;       // of the candidate; below 0: none
  Index row = -1;              // of the panel's local rows
  Index unused = 0;
  double content[kBase] = {};
};

/// Pinned memory through which the device asks the host for the pivot among the ranks of a process column.
struct Courier {
  std::uint64_t asked = 0;  // sequence of the column; written last by the device
  double magnitude = -1;
  Index row = -1;
  double candidate[kBase] = {};
  double current[kBase] = {};  // the row that gives way, where it is here
  std::uint64_t answered = 0;  // written last by the host
  Index winner = -1;           // the pivot's local row; -1: another rank's
  double chosen[kBase] = {};
  double displaced[kBase] = {};  // what comes into the winner's place
};

/// One base panel: the columns [from, from + width) of a panel.
struct BaseTask {
  double* local = nullptr;  // the panel's local rows, column by column
  Index ld = 0, rows = 0;
  int from = 0, width = 0;
  bool top = false;           // the rows that become U are here, the first of `local`
  Index each = 0;             // rows of a block
  double* l1 = nullptr;       // order x order: the rows of L and U that were chosen
  double* inverse = nullptr;  // of L's unit triangle
  int order = 0;
  Index* picks = nullptr;      // local rows that became pivots, by column; with a courier the host knows
  Slot* slots = nullptr;       // two for each block
  Slot* current = nullptr;     // two: the row that gives way
  Slot* result = nullptr;      // two: with a courier, what the host answered
  Courier* courier = nullptr;  // null with one process row
  std::uint64_t sequence = 0;  // of the first column
};

/// Columns of a matrix: `count` from `first` on, leaving out `skip` at number `skip_at`.
struct Columns {
  Index first = 0;
  int count = 0;
  int skip_at = 0, skip = 0;
  [[nodiscard]] HPL_BOTH Index at(int j) const { return first + j + (j >= skip_at ? skip : 0); }
};

/// Rows of a matrix, and how many.
struct Rows {
  const int* at = nullptr;
  int count = 0;
};

}  // namespace shakedown::hpl_gpu
