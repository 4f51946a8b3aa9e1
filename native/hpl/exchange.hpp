// The rows of U and the rows that make room for them, exchanged within a process column for a range of columns.
#pragma once

#include <atomic>

#include "hpl.hpp"
#include "messages.hpp"
#include "rows.hpp"

namespace shakedown::hpl {

/// One range of columns at a time: begin -> pack (any threads, part by part) -> start -> poll until ready -> rows are
/// read by whoever needs them. Every rank of the process column goes through the same ranges in the same order.
class RowExchange {
 public:
  RowExchange() = default;
  /// Room for `rows` rows of U and as many displaced ones, `columns` wide; `slot` keeps its messages apart.
  RowExchange(Index rows, Index columns, int slot, Pages pages);
  /// The same in memory of somebody else's, `bytes` long, which is packed by them.
  RowExchange(Index rows, Index columns, int slot, double* memory);
  static std::size_t bytes(Index rows, Index columns);

  /// The local columns [begin, end) of a matrix whose rows lie `lda` apart.
  void begin(const RowShares& shares, const Grid& grid, bool binary, Index begin, Index end);
  /// Copy this rank's rows of the local columns [begin, end) to where they are sent from.
  void pack(const double* matrix, Index lda, Index begin, Index end);
  void start();
  /// Move on what can be moved on; true once everything is here. Only the MPI thread calls start and poll.
  bool poll();

  /// Row g of the gathered rows (in the order of RowShares::order), from local column `column` on.
  [[nodiscard]] double* gathered(Index g, Index column) const { return u_ + g * width_ + (column - begin_); }
  /// Row r of the displaced rows that came, in the order of RowShares::received.
  [[nodiscard]] const double* arrived(Index r, Index column) const { return in_ + r * width_ + (column - begin_); }
  /// The distance between rows of both.
  [[nodiscard]] Index width() const { return width_; }

 private:
  void step();
  void send_circle(int first, int count, int to);
  void receive_circle(int first, int count, int from);
  // One tag for all steps: messages from one rank arrive in the order of the steps, so that any P has tags enough.
  [[nodiscard]] int tag() const { return 2 * slot_; }
  [[nodiscard]] int displaced_tag() const { return 2 * slot_ + 1; }

  const RowShares* shares_ = nullptr;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int me_ = 0, size_ = 1, slot_ = 0, step_ = 0;
  bool binary_ = true;
  Index begin_ = 0, end_ = 0, width_ = 0;
  Buffer memory_;  // empty where it is somebody else's
  double* base_ = nullptr;
  double *u_ = nullptr, *in_ = nullptr, *out_ = nullptr;
  Index room_ = 0;
  Requests sends_, receives_, displaced_;
};

}  // namespace shakedown::hpl
