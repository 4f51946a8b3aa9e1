// The host backend: threads of this host do what a device would, at once and in order.
#pragma once

#include <algorithm>
#include <thread>

#include "common/affinity.hpp"
#include "gpu.hpp"

namespace shakedown::gpu {

/// How many threads parallel() uses: one for each core that this process may use.
inline std::size_t host_threads() { return static_cast<std::size_t>(std::max(1, usable_cores())); }

/// Call part(begin, end) for parts of [0, count) on the host's threads. `part` must not throw.
template <class Part>
void parallel(std::size_t count, Part&& part, std::size_t least = 1u << 12) {
  const std::size_t threads = std::clamp<std::size_t>(count / std::max<std::size_t>(least, 1), 1, host_threads());
  const auto edge = [&](std::size_t i) { return count / threads * i + std::min(i, count % threads); };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&, i] { part(edge(i), edge(i + 1)); });
  part(edge(0), edge(1));
  for (auto& other : others) other.join();
}

/// `count` devices of the host.
std::vector<std::unique_ptr<Device>> host_devices(int count);

}  // namespace shakedown::gpu
