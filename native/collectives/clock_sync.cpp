#include "clock_sync.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace shakedown::collectives {
namespace {

constexpr std::int64_t kResolutionNs = 1;  // stamps are whole nanoseconds

}  // namespace

std::optional<OffsetBounds> intersect(std::span<const StampExchange> batch) {
  if (batch.empty()) return std::nullopt;
  OffsetBounds bounds{0, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  for (const auto& one : batch) {
    bounds.low_ns = std::max(bounds.low_ns, one.sent_ns - one.served_ns - kResolutionNs);
    bounds.high_ns = std::min(bounds.high_ns, one.received_ns - one.served_ns + kResolutionNs);
  }
  bounds.at_ns = batch.front().sent_ns + (batch.back().received_ns - batch.front().sent_ns) / 2;
  if (bounds.low_ns > bounds.high_ns) std::swap(bounds.low_ns, bounds.high_ns);  // they drifted within the batch
  return bounds;
}

void ClockModel::add(const OffsetBounds& bounds) {
  if (kept_.empty()) base_ns_ = bounds.low_ns;
  kept_.push_back(bounds);
  if (kept_.size() > kMost) kept_.erase(kept_.begin());
  while (kept_.size() > 1 && !possible()) kept_.erase(kept_.begin());
}

bool ClockModel::possible() const {
  const std::int64_t at = kept_.back().at_ns;
  return reach(at, -1) <= reach(at, +1);
}

// The highest point at a time of all lines that keep their bounds is a linear program in two unknowns: its dual has at
// most two active bounds. Hence the least over all single and all pairs of bounds of what those alone allow.
double ClockModel::reach(std::int64_t at_ns, int side) const {
  const auto above = [&](std::int64_t ns) { return side * static_cast<double>(ns - base_ns_); };
  const auto far = [&](const OffsetBounds& one) { return above(side > 0 ? one.high_ns : one.low_ns); };
  const auto near = [&](const OffsetBounds& one) { return above(side > 0 ? one.low_ns : one.high_ns); };
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const double t = static_cast<double>(kept_[i].at_ns - at_ns);
    // A clock's rate is within the most drift whatever the batches say.
    least = std::min(least, far(kept_[i]) + kMostDrift * std::max(t, -t));
    for (std::size_t j = i + 1; j < kept_.size(); ++j) {
      const double u = static_cast<double>(kept_[j].at_ns - at_ns);
      if (u <= t) continue;
      if (t <= 0 && u >= 0) {  // between the two
        least = std::min(least, (far(kept_[i]) * u - far(kept_[j]) * t) / (u - t));
      } else if (u < 0) {  // behind both: the steepest line from the earlier's near end through the later's far one
        least = std::min(least, far(kept_[j]) + (far(kept_[j]) - near(kept_[i])) * -u / (u - t));
      } else {  // before both
        least = std::min(least, far(kept_[i]) + (far(kept_[i]) - near(kept_[j])) * t / (u - t));
      }
    }
  }
  return side * least;
}

Offset ClockModel::offset_at(std::int64_t at_ns) const {
  if (kept_.empty()) throw std::logic_error("no exchange of stamps was made");
  const double low = reach(at_ns, -1);
  const double high = reach(at_ns, +1);
  return {base_ns_ + std::llround((low + high) / 2), std::max(0.0, high - low) / 2};
}

}  // namespace shakedown::collectives
