// Carries out the schedule of a factorization on one rank. One thread: it puts work into streams, waits for what
// messages need, and moves on whatever message is under way while it waits.
#pragma once

#include "hpl/broadcast.hpp"
#include "hpl_gpu/lanes.hpp"
#include "hpl_gpu/measure.hpp"
#include "hpl_gpu/timeline.hpp"
#include "store.hpp"

namespace shakedown::hpl_mxp {

using hpl_gpu::Progress;

class Factorization {
 public:
  Factorization(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                Progress progress);

  /// LU without pivoting of the matrix in the store. Every rank of the grid calls it. Nothing is allocated on the
  /// device in it. `start_s`: when the run began; of the result factor_seconds is there.
  Result run(double start_s);
  /// As hpl_gpu's: the products and the triangular solves of some panels, whatever stands in the memory.
  void rehearse(Index least);
  /// The shares of these seconds, once nothing is timed any more.
  void account(Result& result);

 private:
  void on_host(const Step& step);
  void work(const Step& step, const gpu::Stream& stream);
  void solve(const Step& step, const gpu::Stream& stream);
  void narrow(const Step& step, const gpu::Stream& stream);
  void move_on();
  template <class Done>
  void until(const Done& done);
  [[nodiscard]] hpl::PanelBroadcast& broadcast(Piece piece) { return broadcasts_[static_cast<std::size_t>(piece) - 1]; }

  const Setup& setup_;
  const Grid& grid_;
  Grid turned_;  // its columns as rows: messages down a column go as those along a row
  const Geometry& geometry_;
  Store& store_;
  const Calls& calls_;
  gpu::Device& device_;
  double scale_;
  Progress progress_;
  hpl_gpu::Lanes<Step> lanes_;
  struct HostTime {
    Op op;
    double begin, end;
  };
  std::vector<HostTime> host_times_;
  hpl::PanelBroadcast broadcasts_[kPieces];
  double start_s_ = 0;
};

}  // namespace shakedown::hpl_mxp
