// The memory of a rank: a matrix stored row by row, as in HPL, with a left factor beside it, and buffers for messages.
#pragma once

#include <vector>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "hpl/matrix.hpp"
#include "hpl/panel.hpp"
#include "plan.hpp"

namespace shakedown::hpl_probe {

/// How large it must be.
struct Extent {
  int threads = 1;
  Index top = 0;                 // rows above those of the threads: the rows of U, and of right sides
  Index rows = 0, columns = 0;   // of each thread; of the matrix
  Index depth = 0;               // columns of the left factor
  Index panel_rows = 0, nb = 0;  // the largest panel; 0: none
  Index message_bytes = 0;       // the largest message; 0: none
  [[nodiscard]] Index height() const { return top + rows * threads; }
};
Extent extent_of(const std::vector<Task>& plan, const Sweep& sweep, int threads);

class Field {
 public:
  Field(const Extent& extent, Team& team, Pages pages);
  static std::uint64_t bytes(const Extent& extent);

  [[nodiscard]] double* row(Index i) const { return matrix_ + i * lda; }
  /// The row where a thread's part begins.
  [[nodiscard]] Index part(int thread) const { return extent.top + thread * extent.rows; }
  /// The left factor of a thread, `ldl` apart.
  [[nodiscard]] double* left(int thread) const { return left_ + thread * extent.rows; }
  [[nodiscard]] double* out() const { return static_cast<double*>(out_.data()); }
  [[nodiscard]] double* in() const { return static_cast<double*>(in_.data()); }
  /// The first `columns` entries of row `id` as they were made.
  void original(Index id, Index columns, double* to) const { generator_.fill(generator_.state(id, 0), columns, to); }
  /// Make rows again, in the calling thread.
  void restore(Index begin, Index end) const {
    for (Index i = begin; i < end; ++i) original(i, extent.columns, row(i));
  }
  [[nodiscard]] std::string pages() const { return page_report(matrix_).word(); }

  Extent extent;
  Index lda, ldl;
  hpl::Panel panel;
  std::vector<std::vector<double>> right_sides;  // by thread: NB rows of the columns that are solved at a time

 private:
  hpl::RowGenerator generator_;
  Buffer memory_, left_memory_, out_, in_;
  double *matrix_ = nullptr, *left_ = nullptr;
};

}  // namespace shakedown::hpl_probe
