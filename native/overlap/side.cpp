#include "side.hpp"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "common/watch.hpp"
#include "computation.hpp"

namespace shakedown::overlap {
namespace {

constexpr int kRateTries = 7;
constexpr std::int64_t kRateIterations = 20'000;
constexpr double kLeastIterationNs = 0.2;

std::optional<PlantedNetwork> planted_by(Inject inject, std::size_t bytes) {
  switch (inject) {
    case Inject::asynchronous:
      return PlantedNetwork(Progress::asynchronous, bytes);
    case Inject::stalled:
      return PlantedNetwork(Progress::stalled, bytes);
    case Inject::handshake:
      return PlantedNetwork(Progress::handshake, bytes);
    default:
      return std::nullopt;
  }
}

}  // namespace

Side::Side(Call call, const collectives::SharedClock& clock, Inject inject, bool yields)
    : call_(std::move(call)),
      clock_(clock),
      yields_(yields),
      planted_(planted_by(inject, call_.collective.view.count * sizeof(Word))) {}

Taken Side::take(Way way, int tests, std::int64_t iterations, std::int64_t start_ns) {
  Taken taken;
  begin_at(start_ns);
  taken.entry_ns = now_ns();
  if (way == Way::computing) {
    if (computes(call_)) compute(iterations);
  } else if (way == Way::both && computes(call_)) {
    both(taken, tests, iterations);
  } else {
    const InMpi mark;
    post();
    wait();
  }
  taken.exit_ns = now_ns();
  return taken;
}

void Side::both(Taken& taken, int tests, std::int64_t iterations) {
  std::int64_t before_ns = taken.entry_ns;
  const auto passed = [&] {
    const std::int64_t now = now_ns();
    const std::int64_t since = now - before_ns;
    before_ns = now;
    return since;
  };
  post();
  taken.post_ns = passed();
  bool done = false;
  for (int piece = 0; piece <= tests; ++piece) {
    compute(piece_of(iterations, piece, tests + 1));
    if (piece == tests || done) continue;
    before_ns = now_ns();
    done = test();
    taken.test_ns += passed();
  }
  before_ns = now_ns();
  const InMpi mark;
  wait();
  taken.wait_ns = passed();
}

void Side::begin_at(std::int64_t start_ns) {
  if (planted_) return planted_->start_at(start_ns);
  while (clock_.now_ns() < start_ns) {
    if (yields_) sched_yield();
  }
}

void Side::post() {
  overlap::post(call_);
  if (!planted_) return;
  overlap::wait(call_);  // the data take MPI's way, the time does not
  planted_->post();
}

bool Side::test() { return planted_ ? planted_->test() : overlap::test(call_); }

void Side::wait() {
  if (planted_) return planted_->wait();
  overlap::wait(call_);
}

void Side::compute(std::int64_t iterations) {
  if (planted_) return planted_->compute(iterations);
  sink_ += overlap::compute(iterations);
}

double Side::iteration_ns() {
  double least_ns = std::numeric_limits<double>::max();
  for (int i = 0; i < kRateTries; ++i) {
    const std::int64_t begin_ns = now_ns();
    compute(kRateIterations);
    least_ns = std::min(least_ns, static_cast<double>(now_ns() - begin_ns));
  }
  const double each_ns = least_ns / kRateIterations;
  // A multiply-add takes some cycles; and the use of the results keeps a compiler from leaving them out.
  if (each_ns < kLeastIterationNs || sink_ < 0) throw std::runtime_error("the computation takes no time");
  return each_ns;
}

}  // namespace shakedown::overlap
