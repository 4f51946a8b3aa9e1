// The helper thread of a process: does jobs in their order and, while it has none, answers the helpers of others.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "transport.hpp"

namespace shakedown::checkpoint {

class Helper {
 public:
  /// `transport` may be null and outlives the helper.
  explicit Helper(Transport* transport);
  ~Helper();  // ends after the job under way, whose waits all have bounds
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void post(std::function<void()> job);
  /// True when all jobs are done.
  bool wait(Deadline deadline);
  [[nodiscard]] bool busy();

 private:
  void loop();

  Transport* transport_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool working_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace shakedown::checkpoint
