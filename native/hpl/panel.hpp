// One panel: its memory, which is also the message that carries it, and its factorization by a gang of threads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "gang.hpp"
#include "hpl.hpp"
#include "kernels.hpp"
#include "pivots.hpp"
#include "rows.hpp"

namespace shakedown::hpl {

/// NB columns of L. The ranks of a process row hold the same rows, so the memory of one is a message to the others:
/// pivots | L1, columns x columns | the local rows, column by column.
///
/// With one process column nobody else wants it: then the local rows stay in the matrix, row by row, and only some
/// columns at a time are taken out of it, into a window that all panels share, to be factored there.
class Panel {
 public:
  Panel() = default;
  /// Room for `width` columns of `height` local rows.
  Panel(Index width, Index height, Pages pages);
  static std::size_t bytes(Index width, Index height);
  /// Pivots and L1 of `width` columns; the rows stay where place() says.
  Panel(Index width, double* window, Pages pages);
  static std::size_t bytes_in_place(Index width);

  /// Take the shape of a panel: `in_top` of the local rows belong to the block that becomes U (`width` of them, or
  /// none).
  void shape(Index panel, Index width, Index height, Index in_top);
  /// Of a panel whose rows stay in the matrix: its first local row and column there, and how far apart the rows are.
  void place(double* first, Index stride) {
    rows_ = first;
    stride_ = stride;
  }

  Index k = -1;
  Index columns = 0;
  Index rows = 0;  // local rows from the panel's first row on, the top block included
  Index top = 0;
  Index ld = 0;  // of the local rows

  [[nodiscard]] Index* pivots() const { return static_cast<Index*>(memory_.data()); }
  [[nodiscard]] double* l1() const { return static_cast<double*>(memory_.data()) + columns; }
  /// The local rows, column by column; the window where they stay in the matrix.
  [[nodiscard]] double* local() const { return window_ != nullptr ? window_ : l1() + columns * columns; }
  [[nodiscard]] bool in_place() const { return window_ != nullptr; }
  /// A local row in the matrix.
  [[nodiscard]] double* row(Index local) const { return rows_ + local * stride_; }
  [[nodiscard]] Index stride() const { return stride_; }
  /// The rows below the top block: what updates the trailing matrix.
  [[nodiscard]] const double* l2() const { return local() + top; }
  [[nodiscard]] Index l2_rows() const { return rows - top; }
  [[nodiscard]] double* message() const { return static_cast<double*>(memory_.data()); }
  [[nodiscard]] Index message_doubles() const { return columns + columns * columns + columns * ld; }

  RowShares shares;             // from the pivots: which rows go where
  std::vector<double> inverse;  // of the diagonal blocks of L1, or of L1: see solve.hpp

 private:
  Buffer memory_;
  double* window_ = nullptr;
  double* rows_ = nullptr;
  Index stride_ = 0;
};

/// The columns of the window, for panels that stay in the matrix.
Index window_columns(const Config& config);

/// Factors panels, by every thread of a gang together; the thread `member` 0 leads.
class Factorizer {
 public:
  /// Exchanges a pivot candidate between the ranks of a process column: the message becomes that of the winner.
  using PivotExchange = std::function<void(std::vector<double>& message)>;

  Factorizer(const Config& config, const Grid& grid, const Blas& blas, const Kernels& loops, PivotExchange exchange);

  /// Called by each of `members` threads with its number. The rows are in panel.local() or in the matrix, updated by
  /// all earlier panels; after it L1, the pivots and L2 are there. Right for any number of members, even above the
  /// rows.
  void run(Panel& panel, int member, int members);
  /// The gang's meeting place, for what surrounds the factorization.
  void meet(int members) { barrier_.wait(members); }

  /// The rows [begin, end) of the panel that a member works on.
  static std::pair<Index, Index> slice(Index rows, int member, int members);

 private:
  struct Seat {  // one thread's place in a panel
    Panel& panel;
    int member, members;
    Index begin, end;       // its rows
    std::vector<double> u;  // the part of U above the diagonal of one column
    Index open, close;      // the columns that lie one by one in panel.local(); none while the window is shut
    [[nodiscard]] bool lies_by_columns(Index column) const { return column >= open && column < close; }
    [[nodiscard]] double* column(Index c) const { return panel.local() + (c - open) * panel.ld; }
    [[nodiscard]] double& entry(Index row, Index c) const {
      return lies_by_columns(c) ? column(c)[row] : panel.row(row)[c];
    }
  };
  struct alignas(128) Found {
    Largest largest;
  };

  void recurse(Seat& seat, Index from, Index width);
  void through_window(Seat& seat, Index from, Index width);
  void base(Seat& seat, Index from, Index width);
  void column(Seat& seat, Index from, Index width, Index j);
  void choose_pivot(Seat& seat, Index from, Index width, Index j);
  void take_local_pivot(const Seat& seat, Index j, Index row);
  void take_pivot(const Seat& seat, Index j, const Largest& mine);
  void solve_part(Seat& seat, Index from, Index width, Index begin, Index columns);
  void multiply(Seat& seat, Index from, Index depth, Index begin, Index columns);
  [[nodiscard]] static Index first_active(const Panel& panel, Index done) { return panel.top > 0 ? done : 0; }

  Barrier barrier_;
  Config config_;
  const Grid& grid_;
  const Blas& blas_;
  const Kernels& loops_;
  PivotExchange exchange_;
  Cyclic row_map_;
  std::vector<Found> found_;
  std::vector<double> message_;
  double scale_ = 1;  // 1 / pivot of the column before
};

}  // namespace shakedown::hpl
