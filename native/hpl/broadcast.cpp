#include "broadcast.hpp"

#include <numeric>

namespace shakedown::hpl {
namespace {

/// A chain over the distances [from, to): each gets from the one before, the first from the root.
void chain(Route& route, int distance, int from, int to) {
  if (from >= to) return;
  if (distance == 0) route.children.push_back(from);
  if (distance < from || distance >= to) return;
  route.parent = distance == from ? 0 : distance - 1;
  if (distance + 1 < to) route.children.push_back(distance + 1);
}

}  // namespace

Route route_of(Broadcast broadcast, int distance, int size) {
  Route route;
  const bool modified = broadcast == Broadcast::ring_modified || broadcast == Broadcast::two_rings_modified ||
                        broadcast == Broadcast::spread_modified;
  // Modified: the next column, which factors next, gets the panel first and passes nothing on.
  const int first = modified ? 2 : 1;
  if (modified) chain(route, distance, 1, std::min(2, size));
  switch (broadcast) {
    case Broadcast::ring:
    case Broadcast::ring_modified:
      chain(route, distance, first, size);
      break;
    case Broadcast::two_rings:
    case Broadcast::two_rings_modified: {
      const int middle = first + (size - first + 1) / 2;
      chain(route, distance, first, middle);
      chain(route, distance, middle, size);
      break;
    }
    case Broadcast::spread:
    case Broadcast::spread_modified:
      if (size > first && (distance == 0 || distance >= first)) {
        route.pool.push_back(0);
        for (int d = first; d < size; ++d) route.pool.push_back(d);
      }
      break;
  }
  return route;
}

void PanelBroadcast::start(Broadcast broadcast, int root, const Grid& grid, double* message, Index doubles,
                           Index segment_doubles) {
  size_ = grid.q;
  root_ = root;
  const int distance = (grid.column - root + size_) % size_;
  route_ = route_of(broadcast, distance, size_);
  comm_ = grid.in_row;
  message_ = message;
  doubles_ = doubles;
  segment_ = std::max<Index>(1, segment_doubles);
  segments_ = (doubles + segment_ - 1) / segment_;
  arrived_ = posted_ = 0;
  incoming_.clear();
  settled_.store(false, std::memory_order_relaxed);
  const auto found = std::find(route_.pool.begin(), route_.pool.end(), distance);
  seat_ = found == route_.pool.end() ? -1 : static_cast<int>(found - route_.pool.begin());
  rolled_ = seat_ < 0;
  step_ = -1;
  received_ = distance == 0;
  if (received_) {
    for (Index s = 0; s < segments_; ++s) pass_on(s);
    for (int piece = 1; piece < static_cast<int>(route_.pool.size()); ++piece) {
      const Index begin = piece_begin(piece);
      sends_.send(message_ + begin, piece_begin(piece + 1) - begin,
                  rank_at(route_.pool[static_cast<std::size_t>(piece)]), kScatter, comm_);
    }
  } else if (seat_ > 0) {
    const Index begin = piece_begin(seat_);
    roll_.receive(message_ + begin, piece_begin(seat_ + 1) - begin, rank_at(0), kScatter, comm_);
  } else {
    post_receives();
  }
}

void PanelBroadcast::pass_on(Index segment) {
  const Index begin = segment_begin(segment);
  for (const int child : route_.children) {
    sends_.send(message_ + begin, segment_begin(segment + 1) - begin, rank_at(child), kRing, comm_);
  }
}

void PanelBroadcast::post_receives() {
  for (; posted_ < segments_ && incoming_.size() < kAhead; ++posted_) {
    const Index begin = segment_begin(posted_);
    incoming_.emplace_back().receive(message_ + begin, segment_begin(posted_ + 1) - begin, rank_at(route_.parent),
                                     kRing, comm_);
  }
}

void PanelBroadcast::poll() {
  if (settled()) return;
  if (!rolled_) poll_pool();
  if (!received_ && seat_ < 0) poll_ring();
  if (received_ && rolled_ && sends_.done()) settled_.store(true, std::memory_order_release);
}

void PanelBroadcast::poll_ring() {
  while (!incoming_.empty() && incoming_.front().done()) {
    incoming_.erase(incoming_.begin());
    pass_on(arrived_++);
    post_receives();
  }
  received_ = arrived_ == segments_;
}

/// Each has one piece of the message; in turn it passes on the piece that it got last.
void PanelBroadcast::poll_pool() {
  const int count = static_cast<int>(route_.pool.size());
  while (roll_.done()) {
    if (++step_ == count - 1) {
      received_ = rolled_ = true;
      return;
    }
    const int out = (seat_ - step_ + count) % count;
    const int in = (seat_ - step_ - 1 + count) % count;
    const auto peer = [&](int seat) { return rank_at(route_.pool[static_cast<std::size_t>((seat + count) % count)]); };
    // The root has all, so that nothing comes round to it.
    if (seat_ != count - 1) {
      sends_.send(message_ + piece_begin(out), piece_begin(out + 1) - piece_begin(out), peer(seat_ + 1), kRoll, comm_);
    }
    if (seat_ != 0) {
      roll_.receive(message_ + piece_begin(in), piece_begin(in + 1) - piece_begin(in), peer(seat_ - 1), kRoll, comm_);
    }
  }
}

}  // namespace shakedown::hpl
