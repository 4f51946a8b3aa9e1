// Carries out the schedule of a factorization on one rank, then solves. One thread: it puts work into streams, waits
// for what messages need, and moves on whatever message is under way while it waits.
#pragma once

#include <functional>
#include <memory>

#include "hpl/broadcast.hpp"
#include "hpl/check.hpp"
#include "panel.hpp"
#include "timeline.hpp"

namespace shakedown::hpl_gpu {

class Factorization {
 public:
  /// Told as panels are there: how many columns were factored before.
  using Progress = std::function<void(Index columns)>;

  Factorization(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                Progress progress);

  /// Factor and solve. Every rank of the grid calls it. Nothing is allocated on the device in it.
  Result run();

 private:
  [[nodiscard]] const gpu::Stream& stream(Lane lane) const { return *streams_[static_cast<std::size_t>(lane)]; }
  void on_device(std::size_t number);
  void on_host(const Step& step);
  void work(const Step& step, const gpu::Stream& stream);
  void plan(int k);
  void send(int k);
  void rows(const Step& step, const gpu::Stream& stream);
  void update(const Step& step, const gpu::Stream& stream);
  void move_on();
  template <class Done>
  void until(const Done& done);
  void wait(const gpu::Event& event);
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
  std::vector<Step> steps_;
  std::unique_ptr<gpu::Stream> streams_[kLanes];
  gpu::Event start_;
  std::vector<std::unique_ptr<gpu::Event>> begins_, ends_;  // of the device's steps
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

/// Show MPI every memory that messages start or end in (devices.hpp). Every rank of the grid calls it.
void acquaint(const Grid& grid, const Store& store);

/// Fill [A b]; the residual of x, from A generated again. Every rank of the grid calls them.
void generate(const Geometry& geometry, Store& store, const Calls& calls, const gpu::Stream& stream);
hpl::Check check(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                 const gpu::Stream& stream, const std::vector<double>& x);

}  // namespace shakedown::hpl_gpu
