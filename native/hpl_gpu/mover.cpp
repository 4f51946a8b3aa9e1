#include "mover.hpp"

#include <unordered_map>

namespace shakedown::hpl_gpu {

Lists::Lists(gpu::Device& device, Index most)
    : most_(most),
      device_(device, static_cast<std::size_t>(kLists * most)),
      host_(device, static_cast<std::size_t>(kLists * most), gpu::Memory::pinned) {}

void Lists::fill(hpl::RowShares shares, Index first) {
  shares_ = std::move(shares);
  int* at = host_.data();
  std::unordered_map<Index, Index> comes;
  for (const auto& [from, to] : shares_.kept) comes[to] = from;
  for (std::size_t g = 0; g < shares_.mine.size(); ++g) {
    const Index row = shares_.mine[g];
    const auto found = comes.find(row);
    at[g] = static_cast<int>(row - first);
    at[static_cast<std::size_t>(most_) + g] = found == comes.end() ? -1 : static_cast<int>(found->second - first);
  }
  sent_ = 0;
  for (const auto& list : shares_.sent) {
    for (const Index row : list) at[static_cast<std::size_t>(2 * most_) + sent_++] = static_cast<int>(row - first);
  }
  for (std::size_t r = 0; r < shares_.received.size(); ++r)
    at[static_cast<std::size_t>(3 * most_) + r] = static_cast<int>(shares_.received[r] - first);
  for (std::size_t g = 0; g < shares_.order.size(); ++g)
    at[static_cast<std::size_t>(4 * most_) + g] = static_cast<int>(shares_.order[g]);
}

void Lists::upload(gpu::Device& device, gpu::Handle stream) const {
  device.copy(device_.data(), host_.data(), host_.bytes(), stream);
}

std::pair<double, double> Mover::doubles(Index rows, Index columns, bool travels, bool staged) {
  if (columns == 0) return {0, 0};
  const auto one = static_cast<double>(rows * width_for(columns));
  return {travels ? 3 * one : one, travels && staged ? 3 * one : 0};
}

Mover::Mover(gpu::Device& device, Index rows, Index columns, bool travels, bool staged, int number)
    : staged_(travels && staged), room_(rows * width_for(columns)) {
  if (columns == 0) return;
  device_ = gpu::Array<double>(device, static_cast<std::size_t>((travels ? 3 : 1) * room_));
  if (staged_) host_ = gpu::Array<double>(device, static_cast<std::size_t>(3 * room_), gpu::Memory::pinned);
  if (travels) exchange_ = hpl::RowExchange(rows, width_for(columns), number, staged_ ? host_.data() : device_.data());
}

void Mover::pack(const Calls& calls, const Lists& lists, double* a, Index lda, const Columns& columns, int me,
                 gpu::Handle stream) {
  lists_ = &lists;
  columns_ = columns;
  expect(columns.count);
  begin_ = lists.shares().begins[static_cast<std::size_t>(me)];
  mine_ = lists.mine().count;
  calls.gather(a, lda, columns, lists.mine(), lists.into(), device_.data() + begin_ * ld_, ld_, stream);
  const Index sent = lists.sent().count;
  if (sent > 0) calls.gather(a, lda, columns, lists.sent(), nullptr, device_.data() + 2 * room_, ld_, stream);
  if (!staged_) return;
  copy(calls.device(), host_.data(), device_.data(), begin_ * ld_, mine_, stream);
  copy(calls.device(), host_.data(), device_.data(), 2 * room_, sent, stream);
}

void Mover::copy(gpu::Device& device, double* to, const double* from, Index at, Index rows, gpu::Handle stream) const {
  if (rows > 0) device.copy(to + at, from + at, static_cast<std::size_t>(rows * ld_) * sizeof(double), stream);
}

void Mover::begin(const Grid& grid, bool binary) {
  exchange_.begin(lists_->shares(), grid, binary, 0, ld_);
  exchange_.start();
  moving_ = true;
}

bool Mover::poll() {
  if (moving_ && exchange_.poll()) moving_ = false;
  return !moving_;
}

void Mover::unpack(const Calls& calls, double* a, Index lda, gpu::Handle stream) const {
  const Index arrived = lists_->received().count;
  if (staged_) {  // but what was here anyway
    const auto all = static_cast<Index>(lists_->order().count);
    const Index end = begin_ + mine_;
    copy(calls.device(), device_.data(), host_.data(), 0, begin_, stream);
    copy(calls.device(), device_.data(), host_.data(), end * ld_, all - end, stream);
    copy(calls.device(), device_.data(), host_.data(), room_, arrived, stream);
  }
  calls.scatter(a, lda, columns_, lists_->received(), device_.data() + room_, ld_, stream);
}

}  // namespace shakedown::hpl_gpu
