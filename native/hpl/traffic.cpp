// What the factorization sends and receives: panels along process rows, rows and pivots within process columns. MPI is
// called by thread 0 alone; what other threads want of it they leave for it to find.
#include <mutex>

#include "factor.hpp"

namespace shakedown::hpl {

void Factorization::poll() {
  if (leader_ != 0) serve_pivots();
  poll_panels();
  if (config_.p > 1) poll_rows();
}

void Factorization::poll_panels() {
  if (config_.q == 1) return;
  const Index segment = std::max<Index>(1, config_.segment_bytes / static_cast<Index>(sizeof(double)));
  const auto start = [&](Index k, int root) {
    const Panel& one = panel(k);
    broadcasts_[static_cast<std::size_t>(k % panel_slots(config_))].start(config_.broadcast, root, grid_, one.message(),
                                                                          one.message_doubles(), segment);
  };
  for (Index k = sent_; k < ready_.load(std::memory_order_acquire); ++k) {
    if (mine(k)) start(k, grid_.column);
    sent_.store(k + 1, std::memory_order_release);
  }
  const Index next = ready_.load(std::memory_order_acquire);
  if (next < panel_stop_ && !mine(next) && receiving_ != next && may_receive(next)) {
    shape_panel(next);
    start(next, static_cast<int>(next % config_.q));
    receiving_ = next;
  }
  for (auto& one : broadcasts_) one.poll();
  if (receiving_ == next && broadcasts_[static_cast<std::size_t>(next % panel_slots(config_))].received())
    publish(next);
}

/// The memory that panel k comes into is not read any more.
bool Factorization::may_receive(Index k) {
  const std::lock_guard guard(lock_);
  return bulk_done_ > k - panel_slots(config_) && slot_free(k);
}

void Factorization::poll_rows() {
  for (std::size_t slot = 0; slot < 3; ++slot) {
    auto& exchange = system_.exchanges[slot];
    auto& stage = slot < 2 ? sides_[slot].stage : ahead_;
    if (stage.load(std::memory_order_acquire) == Stage::packed) {
      exchange.start();
      stage.store(Stage::moving, std::memory_order_relaxed);
    }
    if (stage.load(std::memory_order_relaxed) != Stage::moving || !exchange.poll()) continue;
    const std::lock_guard guard(lock_);
    if (slot < 2) {
      sides_[slot].next = sides_[slot].begin;
      sides_[slot].left = sides_[slot].end - sides_[slot].begin;
    }
    stage.store(Stage::solve, std::memory_order_release);
  }
}

/// Nothing is on its way any more that this rank has a part in.
bool Factorization::quiet() {
  if (config_.q == 1) return true;
  return sent_ == ready_ &&
         std::all_of(broadcasts_.begin(), broadcasts_.end(), [](auto& one) { return one.settled(); });
}

/// The message of the panel that had the slot of panel k before is on its way no more.
bool Factorization::slot_free(Index k) const {
  const int slots = panel_slots(config_);
  return sent_.load(std::memory_order_acquire) > k - slots &&
         broadcasts_[static_cast<std::size_t>(k % slots)].settled();
}

/// The leader: the rows of a panel's columns, which nothing else hides.
void Factorization::exchange_ahead(const Panel& from, Index begin, Index end, Seat& seat) {
  auto& exchange = system_.exchanges[2];
  exchange.begin(from.shares, grid_, binary_exchange(end - begin), begin, end);
  exchange.pack(system_.row(0), system_.lda, begin, end);
  seat.ledger.charge(&Shares::rows);
  ahead_.store(Stage::packed, std::memory_order_release);
  Patience patience;
  while (ahead_.load(std::memory_order_acquire) != Stage::solve) {
    if (leader_ == 0) {
      poll();
    } else {
      patience.wait();
    }
  }
  ahead_.store(Stage::idle, std::memory_order_relaxed);
  seat.ledger.charge(&Shares::messages);
}

void Factorization::exchange_pivots(std::vector<double>& message) {
  pivot_request_.store(&message, std::memory_order_release);
  Patience patience;
  while (pivot_request_.load(std::memory_order_acquire) != nullptr) {
    if (leader_ == 0) {
      serve_pivots();
    } else {
      patience.wait();
    }
  }
}

/// The MPI thread: exchange a candidate with the process column.
void Factorization::serve_pivots() {
  auto* mine = pivot_request_.load(std::memory_order_acquire);
  if (mine == nullptr) return;
  hpl::exchange_pivots(*mine, other_pivot_, grid_);
  pivot_request_.store(nullptr, std::memory_order_release);
}

}  // namespace shakedown::hpl
