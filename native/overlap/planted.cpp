#include "planted.hpp"

#include <algorithm>

namespace shakedown::overlap {

void PlantedNetwork::begin() {
  if (done_ns_ < 0) done_ns_ = now_ns_ + left_ns_;
}

void PlantedNetwork::post() {
  done_ns_ = -1;
  if (progress_ == Progress::asynchronous) begin();
  now_ns_ += kPostNs;
}

bool PlantedNetwork::test() {
  if (progress_ == Progress::stalled) return false;
  begin();
  return now_ns_ >= done_ns_;
}

void PlantedNetwork::wait() {
  begin();
  now_ns_ = std::max(now_ns_, done_ns_);
}

double hidden_share(Progress progress, double computation, int tests) {
  if (progress == Progress::stalled || (progress == Progress::handshake && tests == 0)) return 0;
  const double begun = progress == Progress::asynchronous ? 0 : computation / (tests + 1);
  return 1 - (std::max(computation, begun + 1) - computation);
}

}  // namespace shakedown::overlap
