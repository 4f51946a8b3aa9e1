// Threads of all ranks that work at once on so many items each: their common begin, their ends, and the stonewall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "peers.hpp"

namespace shakedown::storage {

/// What a thread does. Each is called with the thread's number; what throws ends that thread, and the crowd throws it
/// on every rank.
struct Crowd {
  std::size_t threads = 0;
  std::uint64_t items = 0;  // of each thread
  double stonewall_s = 0;   // start no item after it; then continue to what the fastest thread has. 0: none
  std::function<void(std::size_t thread)> before = [](std::size_t) {};
  /// Items from `from` below `to`; starts none once `until_s` (of now_s) has come. Gives where it ended.
  std::function<std::uint64_t(std::size_t thread, std::uint64_t from, std::uint64_t to, double until_s)> work;
  std::function<void(std::size_t thread, double begin_s)> begun = [](std::size_t, double) {};
  std::function<void(std::size_t thread)> finish = [](std::size_t) {};  // within the time
  std::function<void(std::size_t thread, double seconds)> after = [](std::size_t, double) {};
};

struct Crowded {
  double seconds = 0;       // from the common begin to the end of the last thread of all ranks
  std::uint64_t items = 0;  // that each thread did
};

/// Every rank calls it.
Crowded run_crowd(Peers& peers, const Crowd& crowd);

}  // namespace shakedown::storage
