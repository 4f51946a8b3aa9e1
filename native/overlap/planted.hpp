// A network whose progress is known, in simulated time: what share of an operation is hidden then follows exactly.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shakedown::overlap {

/// Who moves the data. asynchronous: an adapter, from the post on. stalled: the processor, within the wait alone.
/// handshake: an adapter, from the first test or wait on, which must answer the other side before.
enum class Progress : std::uint8_t { asynchronous, stalled, handshake };

/// One operation after another on a network that needs `transfer_ns(bytes)` for each. MPI's calls take no time, but
/// for the post: a time of nothing would be none.
class PlantedNetwork {
 public:
  PlantedNetwork(Progress progress, std::size_t bytes) : progress_(progress), left_ns_(transfer_ns(bytes)) {}
  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }
  void start_at(std::int64_t ns) { now_ns_ = ns; }
  void post();
  bool test();
  void wait();
  void compute(std::int64_t iterations) { now_ns_ += iterations; }  // 1 ns each

  static constexpr std::int64_t kPostNs = 1;
  static std::int64_t transfer_ns(std::size_t bytes) { return 20'000 + static_cast<std::int64_t>(bytes); }

 private:
  void begin();
  Progress progress_;
  std::int64_t left_ns_;
  std::int64_t now_ns_ = 0;
  std::int64_t done_ns_ = -1;  // when the operation is done; -1: not begun
};

/// The share that is hidden behind a computation `computation` times as long as the operation, with so many tests
/// spread over it evenly.
double hidden_share(Progress progress, double computation, int tests);

}  // namespace shakedown::overlap
