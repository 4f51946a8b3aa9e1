// The memory of one run on one rank: its part of A in single precision, column by column, panels in 16 bits, vectors of
// the refinement; on the device and, where messages start and end there, on the host. All of it is taken before
// anything is timed.
#pragma once

#include <array>

#include "calls.hpp"
#include "hpl_gpu/devices.hpp"
#include "hpl_gpu/room.hpp"
#include "hpl_mxp.hpp"
#include "schedule.hpp"

namespace shakedown::hpl_mxp {

class Store {
 public:
  Store(gpu::Device& device, const Setup& setup, const Geometry& geometry);
  /// What the constructor takes.
  static hpl_gpu::Bytes bytes(const Setup& setup, const Geometry& geometry);

  Index lda = 0;
  [[nodiscard]] float* a(Index row, Index column) const { return matrix_.data() + row + column * lda; }

  /// Panel k. The corner is a square of its width. The left begins with the first local row below it, the top with the
  /// first local column to its right: rows x width and width x columns.
  [[nodiscard]] float* corner(int k) const { return reinterpret_cast<float*>(corners_[slot(k)].data()); }
  [[nodiscard]] std::uint16_t* left(int k) const { return reinterpret_cast<std::uint16_t*>(lefts_[slot(k)].data()); }
  [[nodiscard]] std::uint16_t* top(int k) const { return reinterpret_cast<std::uint16_t*>(tops_[slot(k)].data()); }
  [[nodiscard]] Index ld_corner(int k) const { return padded(width(k)); }
  [[nodiscard]] Index ld_left(int k) const { return padded(rows_below(k)); }
  [[nodiscard]] Index ld_top(int k) const { return padded(width(k)); }
  [[nodiscard]] Index rows_below(int k) const { return rows_below(geometry_, k); }
  [[nodiscard]] Index columns_right(int k) const { return columns_right(geometry_, k); }

  /// A piece of panel k as what travels: where it lies on the device, on the host where it is staged, how long it is.
  [[nodiscard]] double* message(int k, Piece piece) const;
  [[nodiscard]] double* host_message(int k, Piece piece) const;
  [[nodiscard]] Index doubles(int k, Piece piece) const;

  /// For the refinement: two vectors along the local rows, one along the local columns, a block of the host; room for
  /// sums of rows.
  [[nodiscard]] double* by_row(int which) const { return by_row_[static_cast<std::size_t>(which)].data(); }
  [[nodiscard]] double* by_column() const { return by_column_.data(); }
  [[nodiscard]] double* host_block() const { return host_block_.data(); }
  [[nodiscard]] double* chunks() const { return chunks_.data(); }
  [[nodiscard]] double* sums() const { return sums_.data(); }
  [[nodiscard]] double* host_rows() const { return host_rows_.data(); }
  [[nodiscard]] double* host_columns() const { return host_columns_.data(); }

  /// The memory that messages start and end in, of one process column and of one process row.
  [[nodiscard]] hpl_gpu::Memories column_transport() const;
  [[nodiscard]] hpl_gpu::Memories row_transport() const;

  static Index padded(Index length) { return hpl::round_up(std::max<Index>(1, length), kPadding); }
  static Index rows_below(const Geometry& g, int k) { return g.part.height - g.first_row(k) - g.top_rows(k); }
  static Index columns_right(const Geometry& g, int k) { return g.part.width - g.own(k).end; }

 private:
  using Slots = std::array<gpu::Array<double>, kSlots>;
  static std::size_t slot(int k) { return static_cast<std::size_t>(k % kSlots); }
  [[nodiscard]] Index width(int k) const { return geometry_.span(k).width; }
  /// Where a piece is on the host.
  [[nodiscard]] const Slots& host(Piece piece) const { return host_[static_cast<std::size_t>(piece) - 1]; }

  const Geometry& geometry_;
  gpu::Array<float> matrix_;
  Slots corners_, lefts_, tops_;
  std::array<Slots, kPieces> host_;
  std::array<gpu::Array<double>, 2> by_row_;
  gpu::Array<double> by_column_, chunks_, sums_, host_block_, host_rows_, host_columns_;
};

}  // namespace shakedown::hpl_mxp
