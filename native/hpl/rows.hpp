// Which rows a panel's pivoting moves where, and the lists that each rank works from.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "layout.hpp"

namespace shakedown::hpl {

/// The outcome of a panel's interchanges taken together. All rows are global ones.
struct RowPlan {
  struct Move {
    Index from;  // within the top block
    Index to;
  };
  Index first = 0;              // the panel's first row
  std::vector<Index> source;    // source[i] becomes row first + i
  std::vector<Move> displaced;  // rows of the top block that leave it
};

/// pivots[i] was exchanged with row first + i, one after another, pivots[i] >= first + i.
RowPlan plan_rows(Index first, std::span<const Index> pivots);

/// Who holds what for one panel: the rows of U by process row, in the order of source.
struct RowShares {
  std::vector<Index> begins;                  // of each process row among the gathered rows; size P + 1
  std::vector<Index> order;                   // gathered row g is row order[g] of U
  std::vector<Index> mine;                    // local row of each of my gathered rows
  std::vector<std::pair<Index, Index>> kept;  // displaced, both rows mine: local from, local to
  std::vector<std::vector<Index>> sent;       // displaced, from my top block: by process row, local from
  std::vector<Index> received;                // displaced, to me from another: local to
  int source_row = 0;                         // the process row that holds the top block
};

RowShares share_rows(const RowPlan& plan, const Cyclic& rows, int me);

}  // namespace shakedown::hpl
