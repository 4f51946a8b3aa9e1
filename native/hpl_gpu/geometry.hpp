// Which columns and rows of a rank each panel has to do with. Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "hpl/layout.hpp"
#include "tasks.hpp"

namespace shakedown::hpl_gpu {

/// Global columns [begin, begin + width), factored together. A panel lies within one block of the distribution.
struct Span {
  Index begin = 0, width = 0;
  [[nodiscard]] Index end() const { return begin + width; }
};

/// The panels of a matrix of order n: blocks of nb columns, from column `tail_from` on in parts of `tail_nb` (0:
/// whole).
std::vector<Span> spans_of(Index n, Index nb, Index tail_nb, Index tail_from);

/// The columns that a panel updates, by when they are: those of the next panel; the left and the right part of the
/// others, of which the right is all with one process row (there are no rows to exchange). `next`, the first of the
/// left, are the panel's after the next: they are updated first.
enum class Side { ahead, next, left, right };

struct Range {
  Index begin = 0, end = 0;  // local columns
  [[nodiscard]] Index count() const { return end - begin; }
  [[nodiscard]] bool empty() const { return end <= begin; }
};

/// The leading dimension of so many local rows: whole lines of 128 rows and 32 more, so that what lies side by side
/// does not fall into the same banks and sets.
inline Index padded_rows(Index rows) { return hpl::round_up(std::max<Index>(1, rows), 128) + 32; }

class Geometry {
 public:
  Geometry(const Part& part, std::vector<Span> spans, double split);

  Part part;
  std::vector<Span> spans;

  [[nodiscard]] int panels() const { return static_cast<int>(spans.size()); }
  [[nodiscard]] const Span& span(int k) const { return spans[static_cast<std::size_t>(k)]; }
  /// Whether this rank's process column factors panel k, and its process row holds the rows that become U.
  [[nodiscard]] bool mine(int k) const { return k < panels() && owner(k) == part.column; }
  [[nodiscard]] int owner(int k) const { return part.columns.owner(span(k).begin); }
  [[nodiscard]] bool top(int k) const { return part.rows.owner(span(k).begin) == part.row; }
  /// The first local row of panel k, its local rows, and how many of these become U.
  [[nodiscard]] Index first_row(int k) const { return part.rows.count(span(k).begin, part.row); }
  [[nodiscard]] Index rows(int k) const { return part.height - first_row(k); }
  [[nodiscard]] Index top_rows(int k) const { return top(k) ? span(k).width : 0; }
  /// The local columns of panel k itself.
  [[nodiscard]] Range own(int k) const { return {local(span(k).begin), local(span(k).end())}; }
  /// The local columns of a side that panel k updates; `left` includes `next`.
  [[nodiscard]] Range columns(int k, Side side) const;
  /// The most columns that the side ever has.
  [[nodiscard]] Index most(Side side) const;

 private:
  [[nodiscard]] Index local(Index column) const { return part.columns.count(column, part.column); }
  std::vector<Index> splits_;  // where the right side begins, panel by panel
};

/// Of the panels that `among` takes: the first, then each from which on half of the order or less is left of what was
/// left at the one before, while that is more than `least`. Their products have sizes of every magnitude.
std::vector<bool> halving(const Geometry& geometry, Index least, const std::function<bool(int)>& among);

/// A matrix on a grid of ranks, and its panels.
struct Distribution {
  Index n = 0, columns = 0;  // the order of A; columns that are dealt: as many, or b's too
  Index nb = 1;
  int p = 1, q = 1;
  Index tail_nb = 0, tail_from = 0;  // see spans_of
  double split = 0;                  // of the columns that are not the next panel's, the right side
};
/// The part of the rank in this row and column of the grid.
Geometry geometry_of(const Distribution& dealt, int row, int column);

}  // namespace shakedown::hpl_gpu
