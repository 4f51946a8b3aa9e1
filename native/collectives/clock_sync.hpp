// What another host's clock shows while ours shows something: from exchanges of stamps, in certain bounds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shakedown::collectives {

/// One question and answer: we asked at `sent`, the server read its clock at `served`, we had the answer at `received`.
struct StampExchange {
  std::int64_t sent_ns = 0;
  std::int64_t served_ns = 0;
  std::int64_t received_ns = 0;
};

/// What a short batch of exchanges says: at `at_ns` of our clock, ours less the server's lies from `low_ns` to
/// `high_ns`. Each exchange says that it lies between sent - served and received - served; one that was held up says
/// little, and never something wrong.
struct OffsetBounds {
  std::int64_t at_ns = 0;
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;
};

/// The bounds that all exchanges of a batch keep; nothing for none. A batch must be short: what the clocks drift
/// within it is not accounted for.
std::optional<OffsetBounds> intersect(std::span<const StampExchange> batch);

/// Our clock less the server's at a time of ours, and how far from the truth that can be at most.
struct Offset {
  std::int64_t ns = 0;
  double error_ns = 0;
};

/// The bounds of batches over time. Between two clocks of constant rates the offset is a line; every line that keeps
/// all bounds is possible, and the middle of what they reach at some time is the estimate there, half of it its error.
/// No exchange weighs more than what it proves, so that those that were held up do no harm.
class ClockModel {
 public:
  /// One more batch. Where no line keeps all bounds the rates changed: the oldest batches are forgotten. At most
  /// kMost are kept.
  void add(const OffsetBounds& bounds);
  /// At a time of our clock, before, between or after the batches. With one batch only nothing is known of the drift,
  /// which is taken as at most kMostDrift. Throws std::logic_error without a batch.
  [[nodiscard]] Offset offset_at(std::int64_t at_ns) const;
  [[nodiscard]] std::size_t batches() const { return kept_.size(); }

  static constexpr std::size_t kMost = 64;
  static constexpr double kMostDrift = 500e-6;  // what the kernel lets NTP slew a clock; quartz is within 100e-6

 private:
  [[nodiscard]] bool possible() const;
  /// The highest (side +1) or the lowest (-1) offset that any possible line has at a time.
  [[nodiscard]] double reach(std::int64_t at_ns, int side) const;
  std::vector<OffsetBounds> kept_;
  std::int64_t base_ns_ = 0;  // near the offset, which can be years: doubles hold what is above it
};

}  // namespace shakedown::collectives
