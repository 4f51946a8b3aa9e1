// A thread that listens to a stage's groups and counts, while the rank's own thread sends or waits.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "multicast.hpp"
#include "tally.hpp"

namespace shakedown::multicast {

/// What came of every sender. `take` is called in the listener's thread with each whole packet of the trial, its
/// arrival (monotonic, ns) and where it came from.
class Listener {
 public:
  using Take = std::function<void(const Header&, std::int64_t, const Endpoint&)>;

  Listener(const Stage& stage, std::uint32_t trial, std::size_t bytes, std::uint64_t packets_each, Take take = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Every sender has sent what `sent` says, by rank: wait for what is still under way, and count.
  Heard finish(const std::vector<std::int64_t>& sent);
  /// Stop at once.
  void stop();

 private:
  class Inbox;
  void run();
  int drain(Inbox& inbox, int fd);  // how many came
  void count(const std::uint8_t* data, std::size_t bytes, std::int64_t now_ns, const Endpoint& from);
  [[nodiscard]] bool complete() const;  // all that was sent has come
  [[nodiscard]] bool silent() const;    // nothing has come for long enough since all was sent

  const Stage& stage_;
  const Options& options_;
  std::uint32_t trial_;
  std::size_t bytes_;
  Take take_;
  std::vector<Tally> tallies_;  // by sender
  Heard heard_;
  std::int64_t others_ = 0;  // unique packets of all the other senders
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t dropped_before_ = 0;
  std::int64_t backlog_before_ = 0;
  std::atomic<std::int64_t> expected_{-1};
  std::atomic<std::int64_t> told_ns_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace shakedown::multicast
