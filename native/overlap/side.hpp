// One rank of a case: its operation and its computation, by the real clock and MPI or on a planted network.
#pragma once

#include <optional>

#include "overlap.hpp"

namespace shakedown::overlap {

/// One sample of a rank, by its own clock. `post_ns`, `test_ns`, `wait_ns`: in MPI's calls, where it computed
/// meanwhile.
struct Taken {
  std::int64_t entry_ns = 0;
  std::int64_t exit_ns = 0;
  std::int64_t post_ns = 0;
  std::int64_t test_ns = 0;
  std::int64_t wait_ns = 0;
};

enum class Way : std::uint8_t { pure, computing, both };

class Side {
 public:
  Side(Call call, const collectives::SharedClock& clock, Inject inject, bool yields);

  [[nodiscard]] const Call& call() const { return call_; }
  /// Begin at `start_ns` or as soon as this rank is here, and do it. `iterations` of the computation.
  Taken take(Way way, int tests, std::int64_t iterations, std::int64_t start_ns);
  [[nodiscard]] std::int64_t now_ns() const { return planted_ ? planted_->now_ns() : clock_.now_ns(); }
  /// What an iteration of the computation takes on this rank.
  double iteration_ns();

 private:
  void begin_at(std::int64_t start_ns);
  void post();
  bool test();
  void wait();
  void compute(std::int64_t iterations);
  void both(Taken& taken, int tests, std::int64_t iterations);
  Call call_;
  const collectives::SharedClock& clock_;
  bool yields_;
  std::optional<PlantedNetwork> planted_;
  double sink_ = 0;  // so that the computation has a use
};

}  // namespace shakedown::overlap
