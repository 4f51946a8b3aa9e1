// Carries out the schedule of a factorization on one rank, then solves. One thread: it puts work into streams, waits
// for what messages need, and moves on whatever message is under way while it waits.
#pragma once

#include "hpl/broadcast.hpp"
#include "hpl/check.hpp"
#include "lanes.hpp"
#include "measure.hpp"
#include "panel.hpp"
#include "timeline.hpp"

namespace shakedown::hpl_gpu {

class Factorization {
 public:
  Factorization(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                Progress progress);

  /// Factor and solve. Every rank of the grid calls it. Nothing is allocated on the device in it.
  Result run();

  /// Put the products of this system into their streams, of panels down to `least` columns before the end, whatever
  /// stands in the memory, and wait: cuBLAS chooses its kernels by the sizes, and loads each when it is first called.
  void rehearse(Index least);

 private:
  void on_host(const Step& step);
  void work(const Step& step, const gpu::Stream& stream);
  void plan(int k);
  void send(int k);
  void rows(const Step& step, const gpu::Stream& stream);
  void update(const Step& step, const gpu::Stream& stream);
  void move_on();
  template <class Done>
  void until(const Done& done);
  std::vector<Interval> timeline();
  [[nodiscard]] Range columns(const Step& step) const;
  [[nodiscard]] bool binary(Index columns) const;
  [[nodiscard]] hpl::PanelBroadcast& broadcast(int k) { return broadcasts_[static_cast<std::size_t>(k % kSlots)]; }

  const Setup& setup_;
  const Grid& grid_;
  const Geometry& geometry_;
  Store& store_;
  const Calls& calls_;
  gpu::Device& device_;
  Progress progress_;
  Lanes<Step> lanes_;
  std::vector<Interval> host_times_;
  PanelFactory factory_;
  hpl::PanelBroadcast broadcasts_[kSlots];
  std::vector<Index> pivots_;
  double start_s_ = 0;
};

/// Back substitution: U x = y, y being the last column after the factorization. Every rank of the grid calls it, and
/// all get x. `stream` has seen all that went before.
std::vector<double> solve_back(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store,
                               const Calls& calls, const gpu::Stream& stream);

/// Fill [A b]; the residual of x, from A generated again. Every rank of the grid calls them.
void generate(const Geometry& geometry, Store& store, const Calls& calls, const gpu::Stream& stream);
hpl::Check check(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                 const gpu::Stream& stream, const std::vector<double>& x);

}  // namespace shakedown::hpl_gpu
