// Factors panels on the device. With several process rows the host answers the kernel, pivot by pivot, and carries
// rows.
#pragma once

#include <functional>

#include "store.hpp"

namespace shakedown::hpl_gpu {

class PanelFactory {
 public:
  /// `meantime` is called again and again while the host waits.
  PanelFactory(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
               const gpu::Stream& stream, std::function<void()> meantime);

  /// Put the factorization of panel k, whose columns are in store.local(k), into the stream: L1, its inverse, L2 and
  /// the header. With several process rows it returns once the pivots are known, in store.host_pivots(k) too.
  void factor(int k);
  /// Put its products alone into the stream, whatever is in the memory.
  void rehearse(int k);

 private:
  void enter(int k);
  void recurse(int from, int width);
  void base(int from, int width);
  void ask_ranks(int j, int width);
  void serve(const BaseTask& task);
  void exchange_rows(const BaseTask& task);
  void wait(const gpu::Event& event);
  [[nodiscard]] Index first_active(int done) const { return top_ ? done : 0; }

  const Setup& setup_;
  const Grid& grid_;
  const Geometry& geometry_;
  Store& store_;
  const Calls& calls_;
  const gpu::Stream& stream_;
  std::function<void()> meantime_;
  BaseLimits limits_;
  gpu::Event event_;
  std::uint64_t sequence_ = 1;        // of the next column, over all panels
  std::vector<double> mine_, other_;  // pivot candidates as messages
  // The panel at work.
  bool products_only_ = false;
  int k_ = 0, order_ = 0;
  bool top_ = false;
  Index rows_ = 0, ld_ = 0;
};

}  // namespace shakedown::hpl_gpu
