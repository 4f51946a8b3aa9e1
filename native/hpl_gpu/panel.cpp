#include "panel.hpp"

#include <algorithm>
#include <atomic>

#include "gpu/meanwhile.hpp"
#include "hpl/gang.hpp"
#include "hpl/pivots.hpp"

namespace shakedown::hpl_gpu {
namespace {

std::uint64_t acquire(const std::uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void release(std::uint64_t& word, std::uint64_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

constexpr int kLooksBetween = 1 << 12;  // at the courier, until the device is asked whether it still answers

}  // namespace

PanelFactory::PanelFactory(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store,
                           const Calls& calls, const gpu::Stream& stream, std::function<void()> meantime)
    : setup_(setup),
      grid_(grid),
      geometry_(geometry),
      store_(store),
      calls_(calls),
      stream_(stream),
      meantime_(std::move(meantime)),
      limits_(calls.base_limits(setup.panel_blocks)),
      event_(calls.device()) {
  limits_.blocks = std::min(limits_.blocks, Store::kMostBlocks);
  limits_.at_once = setup.shared;
  calls.device().fill(store.slots(), 0, (std::size_t{2} * Store::kMostBlocks + 6) * sizeof(Slot), stream);
  if (setup.base.p > 1) *store.courier() = Courier();
  stream.wait();
}

void PanelFactory::enter(int k) {
  k_ = k;
  order_ = static_cast<int>(geometry_.span(k).width);
  top_ = geometry_.top(k);
  rows_ = geometry_.rows(k);
  ld_ = store_.ld(k);
}

void PanelFactory::rehearse(int k) {
  enter(k);
  products_only_ = true;
  recurse(0, order_);
  products_only_ = false;
}

void PanelFactory::factor(int k) {
  enter(k);
  // The inverse is lower triangular: the products read its upper part too.
  calls_.device().fill(store_.inverse(k), 0,
                       sizeof(double) * static_cast<std::size_t>(order_) * static_cast<std::size_t>(order_), stream_);
  recurse(0, order_);
  if (setup_.base.p > 1) {
    const auto bytes = static_cast<std::size_t>(order_) * sizeof(Index);
    calls_.device().copy(store_.header(k), store_.host_pivots(k), bytes, stream_);
  }
}

/// Right-looking halves. L = [L11 0; L21 L22] has the inverse [I11 0; -I22 L21 I11, I22]: every triangular solve of the
/// panel is then a product, and the inverse of the whole comes with it.
void PanelFactory::recurse(int from, int width) {
  if (width <= kBase) {
    if (!products_only_) base(from, width);
    return;
  }
  const int left = static_cast<int>(hpl::round_up((width + 1) / 2, kBase));
  const int right = width - left, middle = from + left;
  const Index n = order_;
  const auto at = [n](double* square, Index i, Index j) { return square + i + j * n; };
  double* l1 = store_.l1(k_);
  double* inverse = store_.inverse(k_);
  recurse(from, left);
  // The chosen rows of the right half's columns, solved; then the rows below.
  calls_.gemm('N', left, right, left, 1, at(inverse, from, from), n, at(store_.raw(), from, middle), n, 0,
              at(l1, from, middle), n, stream_);
  const Index first = first_active(middle);
  double* local = store_.local(k_) + first;
  calls_.gemm('N', rows_ - first, right, left, -1, local + from * ld_, ld_, at(l1, from, middle), n, 1,
              local + middle * ld_, ld_, stream_);
  recurse(middle, right);
  calls_.gemm('N', right, left, left, 1, at(l1, middle, from), n, at(inverse, from, from), n, 0, store_.scratch(),
              right, stream_);
  calls_.gemm('N', right, left, right, -1, at(inverse, middle, middle), n, store_.scratch(), right, 0,
              at(inverse, middle, from), n, stream_);
}

void PanelFactory::base(int from, int width) {
  BaseTask task;
  task.local = store_.local(k_);
  task.ld = ld_;
  task.rows = rows_;
  task.from = from;
  task.width = width;
  task.top = top_;
  task.l1 = store_.l1(k_);
  task.inverse = store_.inverse(k_);
  task.order = order_;
  task.picks = store_.header(k_);
  task.slots = store_.slots();
  task.current = store_.slots() + std::size_t{2} * Store::kMostBlocks;
  task.result = task.current + 2;
  task.sequence = sequence_;
  if (setup_.base.p == 1) {
    calls_.base(task, base_shape(rows_ - first_active(from), width, limits_), stream_);
    calls_.permute(task, store_.raw(), stream_);
  } else {
    task.courier = store_.courier();
    serve(task);
    exchange_rows(task);
  }
  sequence_ += static_cast<std::uint64_t>(width);
}

/// Launch, and answer every column's question.
void PanelFactory::serve(const BaseTask& task) {
  int answered = 0;
  Courier& courier = *store_.courier();
  const std::function<void()> look = [&] {
    meantime_();
    if (answered == task.width || acquire(courier.asked) != task.sequence + static_cast<std::uint64_t>(answered))
      return;
    ask_ranks(task.from + answered, task.width);
    release(courier.answered, task.sequence + static_cast<std::uint64_t>(answered));
    ++answered;
  };
  gpu::meanwhile = &look;
  calls_.base(task, base_shape(rows_ - first_active(task.from), task.width, limits_), stream_);
  gpu::meanwhile = nullptr;
  event_.record(stream_);
  hpl::Patience patience;
  for (int looks = 1; answered < task.width; ++looks) {
    look();
    patience.wait();
    if (looks % kLooksBetween == 0) calls_.device().happened(event_);  // throws where the device is gone
  }
}

/// The pivot of the panel's column j: the candidate of this rank, merged with those of the process column.
void PanelFactory::ask_ranks(int j, int width) {
  Courier& courier = *store_.courier();
  const auto columns = static_cast<std::size_t>(width);
  const auto& rows = geometry_.part.rows;
  const Index first = geometry_.first_row(k_), begin = geometry_.span(k_).begin;
  const auto chosen = static_cast<std::ptrdiff_t>(hpl::kPivotHead);
  const auto displaced = chosen + width;
  const bool found = courier.magnitude >= 0;
  mine_.assign(hpl::kPivotHead + 2 * columns, 0);
  mine_[0] = found ? courier.magnitude : -1;
  mine_[1] = found ? static_cast<double>(rows.global(first + courier.row, grid_.row)) : 9e15;
  mine_[2] = top_ ? 1 : 0;
  if (found) std::copy_n(courier.candidate, width, mine_.begin() + chosen);
  if (top_) std::copy_n(courier.current, width, mine_.begin() + displaced);
  hpl::exchange_pivots(mine_, other_, grid_);
  const bool none = mine_[0] < 0;  // nothing but NaN: the row itself, and the check will fail
  const Index pivot = none ? begin + j : static_cast<Index>(mine_[1]);
  std::copy_n(mine_.begin() + (none ? displaced : chosen), width, courier.chosen);
  std::copy_n(mine_.begin() + displaced, width, courier.displaced);
  const bool here = rows.owner(pivot) == grid_.row && !(top_ && pivot == begin + j);
  courier.winner = here ? rows.local(pivot) - first : -1;
  store_.host_pivots(k_)[j] = pivot - begin;
}

/// What the base panel's pivots move in the panel's other columns.
void PanelFactory::exchange_rows(const BaseTask& task) {
  const int others = order_ - task.width;
  if (others == 0) return;
  const Index begin = geometry_.span(k_).begin;
  std::vector<Index> pivots(static_cast<std::size_t>(task.width));
  for (std::size_t i = 0; i < pivots.size(); ++i)
    pivots[i] = begin + store_.host_pivots(k_)[static_cast<std::size_t>(task.from) + i];
  Lists& lists = store_.base_lists();
  lists.fill(hpl::share_rows(hpl::plan_rows(begin + task.from, pivots), geometry_.part.rows, grid_.row),
             geometry_.first_row(k_));
  lists.upload(calls_.device(), stream_);
  Mover& mover = store_.base_mover();
  mover.pack(calls_, lists, task.local, ld_, {0, others, task.from, task.width}, grid_.row, stream_);
  event_.record(stream_);
  wait(event_);
  mover.begin(grid_, true);
  hpl::Patience patience;
  while (!mover.poll()) {
    meantime_();
    patience.wait();
  }
  mover.unpack(calls_, task.local, ld_, stream_);
  calls_.place(task, store_.raw(), mover.gathered(), mover.ld(), lists.order(), stream_);
}

void PanelFactory::wait(const gpu::Event& event) {
  hpl::Patience patience;
  while (!calls_.device().happened(event)) {
    meantime_();
    patience.wait();
  }
}

}  // namespace shakedown::hpl_gpu
