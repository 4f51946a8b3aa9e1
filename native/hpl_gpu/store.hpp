// The memory of one run on one rank: its part of [A b], column by column, panels, lists and rows on their way; on the
// device and, where messages start and end there, on the host. All of it is taken before anything is timed.
#pragma once

#include <array>

#include "devices.hpp"
#include "hpl/rows.hpp"
#include "hpl_gpu.hpp"
#include "mover.hpp"
#include "room.hpp"
#include "schedule.hpp"

namespace shakedown::hpl_gpu {

class Store {
 public:
  Store(gpu::Device& device, const Setup& setup, const Geometry& geometry);
  /// What the constructor takes.
  static Bytes bytes(const Setup& setup, const Geometry& geometry);

  Index lda = 0;
  [[nodiscard]] double* a(Index row, Index column) const { return matrix_.data() + row + column * lda; }

  /// Panel k: what travels lies in one piece, pivots (as distances from the panel's first row) | inverse | local rows.
  [[nodiscard]] double* message(int k) const { return messages_[slot(k)].data(); }
  [[nodiscard]] double* host_message(int k) const { return host_messages_[slot(k)].data(); }
  [[nodiscard]] Index message_doubles(int k) const { return width(k) + width(k) * width(k) + width(k) * ld(k); }
  [[nodiscard]] Index* header(int k) const { return reinterpret_cast<Index*>(message(k)); }
  [[nodiscard]] double* inverse(int k) const { return message(k) + width(k); }
  [[nodiscard]] double* local(int k) const { return inverse(k) + width(k) * width(k); }
  [[nodiscard]] Index ld(int k) const { return hpl::round_up(std::max<Index>(1, geometry_.rows(k)), kTile); }
  [[nodiscard]] double* l1(int k) const { return l1_[slot(k)].data(); }
  /// The inverse with the columns in the order of the gathered rows: with one process row that is the inverse.
  [[nodiscard]] double* mixed(int k) const { return mixed_[slot(k)].size() > 0 ? mixed_[slot(k)].data() : inverse(k); }
  [[nodiscard]] Index* host_pivots(int k) const { return host_pivots_[slot(k)].data(); }

  /// What factoring uses: rows of U not solved for yet, products on their way, slots of the base panel's kernel.
  [[nodiscard]] double* raw() const { return raw_.data(); }
  [[nodiscard]] double* scratch() const { return scratch_.data(); }
  [[nodiscard]] Slot* slots() const { return slots_.data(); }
  [[nodiscard]] Courier* courier() const { return courier_.data(); }

  [[nodiscard]] Lists& lists(int k) { return lists_[slot(k)]; }
  [[nodiscard]] Lists& base_lists() { return base_lists_; }
  /// Rows of a side (ahead, left, right) on their way, and those of a base panel; U transposed.
  [[nodiscard]] Mover& mover(Side side) { return movers_[index(side)]; }
  [[nodiscard]] Mover& base_mover() { return base_mover_; }
  [[nodiscard]] double* solved(Side side) const { return solved_[index(side)].data(); }

  /// For the back substitution and the check: a vector along the local rows, along the local columns, of N; sums.
  [[nodiscard]] double* by_row() const { return by_row_.data(); }
  [[nodiscard]] double* by_column() const { return by_column_.data(); }
  [[nodiscard]] double* sums() const { return sums_.data(); }
  [[nodiscard]] double* host_block() const { return host_block_.data(); }

  /// The memory that messages start and end in, of one process column and of one process row.
  [[nodiscard]] Memories column_transport() const;
  [[nodiscard]] Memories row_transport() const;

  static constexpr unsigned kMostBlocks = 1024;  // of the base panel's kernel
  static constexpr int kChunks = 16;             // of the check's sums

 private:
  static std::size_t slot(int k) { return static_cast<std::size_t>(k % kSlots); }
  static std::size_t index(Side side) {
    return side == Side::ahead ? 0 : side == Side::right ? 2 : 1;  // `next` is a part of `left`
  }
  [[nodiscard]] Index width(int k) const { return geometry_.span(k).width; }

  const Geometry& geometry_;
  gpu::Array<double> matrix_, raw_, scratch_, by_row_, by_column_, sums_, host_block_;
  std::array<gpu::Array<double>, kSlots> messages_, host_messages_, l1_, mixed_;
  std::array<gpu::Array<Index>, kSlots> host_pivots_;
  std::array<gpu::Array<double>, 3> solved_;
  gpu::Array<Slot> slots_;
  gpu::Array<Courier> courier_;
  std::array<Lists, kSlots> lists_;
  Lists base_lists_;
  std::array<Mover, 3> movers_;
  Mover base_mover_;
};

}  // namespace shakedown::hpl_gpu
