#include "forwarder.hpp"

#include <algorithm>
#include <utility>

#include "worker.hpp"

namespace shakedown::radio_forwarder {

Forwarder::Forwarder(const Channel& channel, std::vector<Node>& nodes, int threads, Hosts hosts)
    : channel_(channel),
      nodes_(nodes),
      hosts_(std::move(hosts)),
      links_(static_cast<std::uint32_t>(nodes.size() - 1), channel.waveform),
      sent_(nodes.size()),
      received_(nodes.size()) {
  const auto count = static_cast<std::size_t>(channel.collisions ? 1 : std::max(1, threads));
  std::vector<std::vector<std::uint32_t>> shares(count);
  for (std::uint32_t node = 1; node < nodes.size(); ++node) {
    if (nodes[node].tap.fd() >= 0) shares[node % count].push_back(node);
  }
  for (std::size_t i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>(*this, shares[i], i == 0));
  for (auto& worker : workers_) threads_.emplace_back([&worker = *worker] { worker.run(); });
}

Forwarder::~Forwarder() {
  stopping_ = true;
  for (auto& thread : threads_) thread.join();
}

Totals Forwarder::totals() const {
  Totals totals;
  for (const auto& worker : workers_) totals.add(worker->counts());
  return totals;
}

Forwarder::Traffic Forwarder::traffic(std::uint32_t node) const {
  return {sent_[node].load(std::memory_order_relaxed), received_[node].load(std::memory_order_relaxed)};
}

}  // namespace shakedown::radio_forwarder
