// Schedules of steps in lanes (schedule.hpp of either program), of which the last is the host's: what waits for what,
// and their way through the streams of a device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/gpu.hpp"

namespace shakedown::hpl_gpu {

template <class Step>
using LaneOf = decltype(Step::lane);
template <class Step>
inline constexpr auto kDeviceLanes = static_cast<std::size_t>(LaneOf<Step>::host);

/// What a step in `lane` has to wait for of `earlier` ones: what is in its own lane or the host's is done anyhow; of
/// each other lane the last, as those before it are done then.
template <class Step>
std::vector<int> waits_of(const std::vector<Step>& steps, LaneOf<Step> lane, const std::vector<int>& earlier) {
  std::array<int, kDeviceLanes<Step>> last;
  last.fill(-1);
  for (const int one : earlier) {
    const auto other = steps[static_cast<std::size_t>(one)].lane;
    if (other == lane || other == LaneOf<Step>::host) continue;
    int& latest = last[static_cast<std::size_t>(other)];
    latest = std::max(latest, one);
  }
  std::vector<int> waits;
  std::copy_if(last.begin(), last.end(), std::back_inserter(waits), [](int one) { return one >= 0; });
  return waits;
}

/// The device's lanes of one schedule, each a stream, with when each step in them began and ended.
template <class Step>
class Lanes {
 public:
  using Lane = LaneOf<Step>;

  Lanes(gpu::Device& device, std::vector<Step> steps)
      : device_(device), steps_(std::move(steps)), start_(device), begins_(steps_.size()), ends_(steps_.size()) {
    // The first lane is the update's. The others go first: what they need is little, and everything waits for it.
    for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i] = std::make_unique<gpu::Stream>(device, i > 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].lane == Lane::host) continue;
      begins_[i] = std::make_unique<gpu::Event>(device);
      ends_[i] = std::make_unique<gpu::Event>(device);
    }
  }

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const gpu::Stream& stream(Lane lane) const { return *streams_[static_cast<std::size_t>(lane)]; }

  /// From here on seconds are counted.
  void start() { start_.record(stream(Lane::update)); }

  /// Put a step of the device into its lane, after what it waits for: `work` puts it into the stream.
  template <class Work>
  void put(std::size_t number, const Work& work) {
    const Step& step = steps_[number];
    const auto& mine = stream(step.lane);
    for (const int earlier : step.after) device_.await(mine, *ends_[static_cast<std::size_t>(earlier)]);
    begins_[number]->record(mine);
    work(step, mine);
    ends_[number]->record(mine);
  }

  /// Whether a step of the device has ended.
  [[nodiscard]] bool ended(int number) const { return device_.happened(*ends_[static_cast<std::size_t>(number)]); }

  /// Wait for all lanes.
  void finish() const {
    for (const auto& one : streams_) one->wait();
  }

  /// Tell each step of the device with its begin and end, once all have ended.
  template <class Told>
  void tell(const Told& told) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (ends_[i] != nullptr) told(steps_[i], start_.seconds_until(*begins_[i]), start_.seconds_until(*ends_[i]));
    }
  }

 private:
  gpu::Device& device_;
  std::vector<Step> steps_;
  std::array<std::unique_ptr<gpu::Stream>, kDeviceLanes<Step>> streams_;
  gpu::Event start_;
  std::vector<std::unique_ptr<gpu::Event>> begins_, ends_;  // of the device's steps
};

}  // namespace shakedown::hpl_gpu
