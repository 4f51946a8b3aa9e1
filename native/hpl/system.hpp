// The memory of one run on one rank: its part of [A b], row by row, the panels and the rows on their way.
#pragma once

#include <vector>

#include "check.hpp"
#include "common/team.hpp"
#include "exchange.hpp"
#include "hpl.hpp"
#include "matrix.hpp"
#include "panel.hpp"

namespace shakedown::hpl {

/// Rows are stored one after another: then an exchange of rows copies whole cache lines, where a column-major matrix
/// moves one entry of eight of each line. A BLAS sees the transposed matrix.
class System {
 public:
  using Check = hpl::Check;
  System(const Config& config, const Grid& grid, Pages pages);
  /// What the constructor takes on the rank that has most.
  static std::uint64_t bytes(const Config& config);

  /// Fill [A b] by every thread of the team, each the rows that it will work on most.
  void generate(Team& team);
  /// The residual of `x`, from A and b generated again. The same on every rank.
  [[nodiscard]] Check check(Team& team, const Grid& grid, const Kernels& loops, const std::vector<double>& x) const;

  /// The pages that hold the matrix now: huge, base or in between.
  [[nodiscard]] std::string pages() const { return page_report(a_).word(); }
  [[nodiscard]] double* row(Index local) const { return a_ + local * lda; }

  Index n, nb;
  Cyclic row_map, column_map;
  int my_row, my_column;
  Index height, width, lda;  // local rows and columns; b is the last column of all
  std::vector<Panel> panels;
  std::vector<RowExchange> exchanges;  // left part, right part, look-ahead; none with one process row

 private:
  [[nodiscard]] double largest_column(Team& team, const Grid& grid) const;

  Buffer memory_, window_;
  double* a_ = nullptr;
};

/// How many panels a rank keeps: the one in use, those ahead, and with several ranks one whose last readers may lag.
inline int panel_slots(const Config& config) { return config.depth + (config.p * config.q == 1 ? 1 : 2); }

/// The most rows of L that a thread gives the BLAS at once, of so many: it packs a copy of them, which with few threads
/// would be much beside a small matrix.
inline Index most_rows_at_once(Index height) { return std::clamp<Index>(height / 5, 2048, 4096); }

/// What a run takes on the rank that has most: its system, and what the BLAS packs in each of so many threads. Not the
/// program with its libraries and MPI, which are there before: 20 to 30 MB.
std::uint64_t run_bytes(const Config& config, int threads);

/// Of so many local columns, the first of those whose rows are exchanged second; all are the first with one process
/// row.
Index split_column(const Config& config, Index width);

}  // namespace shakedown::hpl
