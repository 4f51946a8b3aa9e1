// A panel on its way along a process row, by HPL's six algorithms, in pieces.
#pragma once

#include <atomic>
#include <vector>

#include "hpl.hpp"
#include "messages.hpp"

namespace shakedown::hpl {

/// From whom a rank gets the panel and to whom it passes it on, as distances from the root's column.
struct Route {
  int parent = -1;  // -1: the root, or nobody (then the pool below delivers)
  std::vector<int> children;
  std::vector<int> pool;  // who shares the scatter and the roll of "long"; empty for the rings
};

/// The route of the rank `distance` columns from the root, in a row of `size`.
Route route_of(Broadcast broadcast, int distance, int size);

/// One panel's broadcast on one rank. Only the MPI thread calls it.
class PanelBroadcast {
 public:
  /// Begin: the root has the message, the others give the memory that it comes into.
  void start(Broadcast broadcast, int root, const Grid& grid, double* message, Index doubles, Index segment_doubles);
  /// Move on what can be moved on.
  void poll();
  /// The whole message is here.
  [[nodiscard]] bool received() const { return received_; }
  /// Nothing of it is on its way any more: the memory may be used again. Any thread may ask.
  [[nodiscard]] bool settled() const { return settled_.load(std::memory_order_acquire); }

 private:
  void poll_ring();
  void poll_pool();
  void pass_on(Index segment);
  void post_receives();
  [[nodiscard]] int rank_at(int distance) const { return (root_ + distance) % size_; }
  [[nodiscard]] Index segment_begin(Index segment) const { return std::min(doubles_, segment * segment_); }
  [[nodiscard]] Index piece_begin(int piece) const { return doubles_ * piece / static_cast<int>(route_.pool.size()); }

  static constexpr int kRing = 1, kScatter = 2, kRoll = 3;  // tags
  static constexpr std::size_t kAhead = 4;                  // receives posted at once

  Route route_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  double* message_ = nullptr;
  Index doubles_ = 0, segment_ = 1, segments_ = 0;
  int root_ = 0, size_ = 1, seat_ = -1;  // seat: this rank's place in the pool
  Index arrived_ = 0, posted_ = 0;
  int step_ = -1;
  bool received_ = true, rolled_ = true;
  std::atomic<bool> settled_{true};
  std::vector<Requests> incoming_;  // segment by segment, the oldest first
  Requests sends_, roll_;
};

}  // namespace shakedown::hpl
