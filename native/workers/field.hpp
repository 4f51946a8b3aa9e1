// What each worker does: sweeps over an array of its own.
#pragma once

#include <cstdint>
#include <vector>

namespace shakedown::workers {

/// Two arrays, each sweep from one into the other: a cell becomes a quarter of its left neighbour, a half of itself and
/// a quarter of its right one. The ends are neighbours.
class Field {
 public:
  explicit Field(std::size_t cells) : now_(cells), next_(cells) { restart(); }

  /// As it was at the begin: the same for every worker.
  void restart();
  void sweep();
  /// Of all bits of all cells, in their order.
  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] std::vector<double>& cells() { return now_; }

 private:
  std::vector<double> now_, next_;
};

}  // namespace shakedown::workers
