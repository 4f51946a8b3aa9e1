#include "store.hpp"

#include <algorithm>

namespace shakedown::hpl_gpu {
namespace {

constexpr Side kSides[] = {Side::ahead, Side::left, Side::right};

/// Doubles of everything that is not a mover's, on the rank that asks.
struct Sizes {
  Index lda = 0;
  double matrix = 0, message = 0, square = 0, scratch = 0, solved[3] = {0, 0, 0}, sums = 0;
  Index widest = 0;  // columns of a panel
  bool rows_travel = false, panels_travel = false;
};

Sizes sizes_of(const Setup& setup, const Geometry& g) {
  Sizes s;
  s.lda = padded_rows(g.part.height);
  s.matrix = static_cast<double>(s.lda) * static_cast<double>(std::max<Index>(1, g.part.width));
  for (const Span& span : g.spans) s.widest = std::max(s.widest, span.width);
  const auto b = static_cast<double>(s.widest);
  s.message = b + b * b + b * static_cast<double>(hpl::round_up(std::max<Index>(1, g.part.height), kTile));
  s.square = b * b;
  s.scratch = (b / 2 + kBase) * (b / 2 + kBase);
  for (std::size_t i = 0; i < 3; ++i) {
    const Index most = g.most(kSides[i]);
    s.solved[i] = most == 0 ? 0 : b * static_cast<double>(Mover::width_for(most));
  }
  s.sums = std::max(2.0 * Store::kChunks * static_cast<double>(std::max<Index>(1, g.part.height)),
                    static_cast<double>(g.part.width));
  s.rows_travel = setup.base.p > 1;
  s.panels_travel = setup.base.q > 1;
  return s;
}

std::size_t whole(double doubles) { return static_cast<std::size_t>(doubles); }

}  // namespace

Bytes Store::bytes(const Setup& setup, const Geometry& g) {
  const Sizes s = sizes_of(setup, g);
  Bytes total;
  total.device = s.matrix + kSlots * (s.message + s.square * (s.rows_travel ? 2 : 1)) + s.square + s.scratch + s.sums;
  total.device += static_cast<double>(g.part.height + g.part.width + 2);
  for (const double one : s.solved) total.device += one;
  for (const Side side : kSides) {
    const auto [device, pinned] = Mover::doubles(s.widest, g.most(side), s.rows_travel, setup.staged);
    total.device += device;
    total.pinned += pinned;
  }
  if (s.rows_travel) {
    const auto [device, pinned] = Mover::doubles(kBase, s.widest, true, setup.staged);
    total.device += device;
    total.pinned += pinned;
  }
  if (s.panels_travel && setup.staged) total.pinned += kSlots * s.message;
  total.device *= sizeof(double);
  total.pinned *= sizeof(double);
  total.device += static_cast<double>((2 * kMostBlocks + 6) * sizeof(Slot) + (kSlots + 1) * Lists::bytes(s.widest));
  return total;
}

Store::Store(gpu::Device& device, const Setup& setup, const Geometry& geometry) : geometry_(geometry) {
  const Sizes s = sizes_of(setup, geometry);
  const auto& part = geometry.part;
  const auto on_device = [&](double doubles) {
    return gpu::Array<double>(device, std::max<std::size_t>(1, whole(doubles)));
  };
  lda = s.lda;
  matrix_ = on_device(s.matrix);
  raw_ = on_device(s.square);
  scratch_ = on_device(s.scratch);
  by_row_ = on_device(static_cast<double>(part.height));
  by_column_ = on_device(static_cast<double>(part.width));
  sums_ = on_device(s.sums);
  host_block_ =
      gpu::Array<double>(device, static_cast<std::size_t>(std::max<Index>(1, setup.base.nb)), gpu::Memory::pinned);
  for (std::size_t i = 0; i < kSlots; ++i) {
    messages_[i] = on_device(s.message);
    l1_[i] = on_device(s.square);
    if (s.rows_travel) mixed_[i] = on_device(s.square);
    if (s.panels_travel && setup.staged)
      host_messages_[i] = gpu::Array<double>(device, whole(s.message), gpu::Memory::pinned);
    host_pivots_[i] = gpu::Array<Index>(device, static_cast<std::size_t>(s.widest), gpu::Memory::pinned);
    lists_[i] = Lists(device, s.widest);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (s.solved[i] > 0) solved_[i] = on_device(s.solved[i]);
    movers_[i] = Mover(device, s.widest, geometry.most(kSides[i]), s.rows_travel, setup.staged, static_cast<int>(i));
  }
  slots_ = gpu::Array<Slot>(device, 2 * kMostBlocks + 6);
  if (s.rows_travel) {
    courier_ = gpu::Array<Courier>(device, 1, gpu::Memory::pinned);
    base_lists_ = Lists(device, kBase);
    base_mover_ = Mover(device, kBase, s.widest, true, setup.staged, 3);
  }
}

Memories Store::column_transport() const {
  Memories all;
  for (const Mover* mover : {&movers_[0], &movers_[1], &movers_[2], &base_mover_}) all.push_back(mover->transport());
  return all;
}

Memories Store::row_transport() const { return transport_of(messages_, host_messages_); }

}  // namespace shakedown::hpl_gpu
