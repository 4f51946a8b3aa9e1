#include "store.hpp"

#include <algorithm>

namespace shakedown::hpl_mxp {
namespace {

constexpr Index kFloats = 2, kHalves = 4;  // of a double's length

/// Doubles of everything, on the rank that asks.
struct Sizes {
  Index lda = 0;
  double matrix_bytes = 0;
  Index corner = 0, left = 0, top = 0, rows = 0, columns = 0;
  bool down = false, along = false;  // whether messages go down process columns, along process rows
};

Sizes sizes_of(const Geometry& g) {
  Sizes s;
  s.lda = hpl_gpu::padded_rows(g.part.height);
  s.matrix_bytes = static_cast<double>(s.lda) * static_cast<double>(std::max<Index>(1, g.part.width)) * sizeof(float);
  for (int k = 0; k < g.panels(); ++k) {
    const Index width = g.span(k).width;
    s.corner = std::max(s.corner, Store::padded(width) * width / kFloats);
    s.left = std::max(s.left, Store::padded(Store::rows_below(g, k)) * width / kHalves);
    s.top = std::max(s.top, Store::padded(width) * Store::columns_right(g, k) / kHalves);
  }
  s.rows = std::max<Index>(1, g.part.height);
  s.columns = std::max<Index>(1, g.part.width);
  s.down = g.part.rows.parts > 1;
  s.along = g.part.columns.parts > 1;
  return s;
}

}  // namespace

hpl_gpu::Bytes Store::bytes(const Setup& setup, const Geometry& g) {
  const Sizes s = sizes_of(g);
  constexpr double kDouble = sizeof(double);
  const auto corner = static_cast<double>(s.corner), left = static_cast<double>(s.left),
             top = static_cast<double>(s.top);
  const auto rows = static_cast<double>(s.rows), columns = static_cast<double>(s.columns);
  hpl_gpu::Bytes total;
  total.device = s.matrix_bytes +
                 kDouble * (kSlots * (corner + left + top) + 2 * rows + columns + 2 * rows * (Calls::kChunks + 1));
  total.pinned = kDouble * (2 * rows + columns + static_cast<double>(setup.base.nb));
  if (setup.staged) total.pinned += kDouble * kSlots * ((s.down ? corner + top : 0) + (s.along ? corner + left : 0));
  return total;
}

Store::Store(gpu::Device& device, const Setup& setup, const Geometry& geometry) : geometry_(geometry) {
  const Sizes s = sizes_of(geometry);
  const auto array = [&](Index doubles, gpu::Memory kind = gpu::Memory::device) {
    return gpu::Array<double>(device, static_cast<std::size_t>(std::max<Index>(1, doubles)), kind);
  };
  lda = s.lda;
  matrix_ = gpu::Array<float>(device, static_cast<std::size_t>(s.lda * s.columns));
  for (std::size_t i = 0; i < kSlots; ++i) {
    corners_[i] = array(s.corner);
    lefts_[i] = array(s.left);
    tops_[i] = array(s.top);
    if (!setup.staged) continue;
    const auto stage = [&](Piece piece, bool wanted, Index doubles) {
      if (wanted) host_[static_cast<std::size_t>(piece) - 1][i] = array(doubles, gpu::Memory::pinned);
    };
    stage(Piece::corner_down, s.down, s.corner);
    stage(Piece::corner_along, s.along, s.corner);
    stage(Piece::left, s.along, s.left);
    stage(Piece::top, s.down, s.top);
  }
  for (auto& one : by_row_) one = array(s.rows);
  by_column_ = array(s.columns);
  chunks_ = array(2 * s.rows * Calls::kChunks);
  sums_ = array(2 * s.rows);
  host_block_ = array(setup.base.nb, gpu::Memory::pinned);
  host_rows_ = array(2 * s.rows, gpu::Memory::pinned);
  host_columns_ = array(s.columns, gpu::Memory::pinned);
}

double* Store::message(int k, Piece piece) const {
  const auto& slots = piece == Piece::left ? lefts_ : piece == Piece::top ? tops_ : corners_;
  return slots[slot(k)].data();
}

double* Store::host_message(int k, Piece piece) const { return host(piece)[slot(k)].data(); }

Index Store::doubles(int k, Piece piece) const {
  if (piece == Piece::left) return ld_left(k) * width(k) / kHalves;
  if (piece == Piece::top) return ld_top(k) * columns_right(k) / kHalves;
  return ld_corner(k) * width(k) / kFloats;
}

hpl_gpu::Memories Store::column_transport() const {
  auto all = hpl_gpu::transport_of(corners_, host(Piece::corner_down));
  for (const auto& one : hpl_gpu::transport_of(tops_, host(Piece::top))) all.push_back(one);
  return all;
}

hpl_gpu::Memories Store::row_transport() const {
  auto all = hpl_gpu::transport_of(corners_, host(Piece::corner_along));
  for (const auto& one : hpl_gpu::transport_of(lefts_, host(Piece::left))) all.push_back(one);
  return all;
}

}  // namespace shakedown::hpl_mxp
